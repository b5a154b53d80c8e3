//! Durable jobs of a server without a fleet, with real jars.

use serde_json::{Value, json};

use crate::serve::Served;
use crate::support::*;

fn submit(server: &Served, code: &str) -> String {
    let body = json!({ "job": { "code": code } }).to_string();
    let (status, body) = server.ask("POST", "/v1/jobs", &body);
    assert_eq!(status, 202, "{body}");
    let told: Value = serde_json::from_str(&body).unwrap();
    format!("/v1/jobs/{}", told["id"].as_str().unwrap())
}

#[test]
fn a_job_runs_without_its_caller_and_is_ended_by_it() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::with_settings("127.0.0.1:0", Folder::new());
    server.wait_for("/readyz", "\"ready\"");
    let job = submit(&server, "print('hello')\nresult = 6 * 7");
    server.wait_for(&format!("{job}?wait_ms=30000"), "\"state\":\"ended\"");
    let ended: Value = serde_json::from_str(&server.ask("GET", &job, "").1).unwrap();
    assert_eq!(
        (&ended["outcome"]["result"], &ended["outcome"]["stdout"]["text"]),
        (&json!(42), &json!("hello\n"))
    );
    // What the guest does is an outcome here too.
    let job = submit(&server, "1 / 0");
    server.wait_for(&format!("{job}?wait_ms=30000"), "ZeroDivisionError");
    let job = submit(&server, "import time\ntime.sleep(250)");
    server.wait_for("/metrics", "carboy_runs_running 1\n");
    let (status, body) = server.ask("DELETE", &job, "");
    assert_eq!(status, 202, "{body}");
    // Its jar does not outlive it.
    server.wait_for("/metrics", "carboy_runs_running 0\n");
    assert!(server.ask("GET", &job, "").1.contains("\"state\":\"cancelled\""));
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}
