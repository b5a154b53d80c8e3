//! Sessions over HTTP, with real runs.

use std::io::{BufRead, BufReader};

use carboy_server::http::key_digest;
use serde_json::{Value, json};

use crate::serve::Served;
use crate::support::*;

/// A server with two tenants, `one` and `two`, whose keys are their names, in full walls.
fn served() -> Served {
    let mut settings = String::new();
    for name in ["one", "two"] {
        settings += &format!(
            "[tenants.{name}]\nsessions_at_once = 2\nkeys = [{{ sha256 = \"{}\" }}]\n\
             ceiling = {{ limits = {{ wall_ms = 300_000, heads = 6, session_memory_bytes = \"128 MiB\" }} }}\n",
            key_digest(name)
        );
    }
    let folder = Folder::new();
    let file = folder.0.join("serve.toml");
    std::fs::write(&file, settings).unwrap();
    let mut served =
        Served::of(&["--config", file.to_str().unwrap()], "127.0.0.1:0", Folder::new());
    served.key = "one".into();
    served
}

/// Asks, and reads the answer, which is JSON or nothing.
fn ask(server: &Served, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let (status, body) = server.ask(method, path, &body);
    (status, serde_json::from_str(&body).unwrap_or(Value::Null))
}

/// Opens a session, and gives its path.
fn open(server: &Served, body: Value) -> String {
    let (status, made) = ask(server, "POST", "/v1/sessions", body);
    assert_eq!(status, 201, "{made}");
    format!("/v1/sessions/{}", made["id"].as_str().unwrap())
}

/// Runs code in a session: its result, and what is left of the state.
fn run(server: &Served, session: &str, code: &str) -> (Value, Value) {
    let (status, reply) = ask(server, "POST", &format!("{session}/runs"), json!({ "code": code }));
    assert_eq!(status, 200, "{reply}");
    (reply["outcome"]["result"].clone(), reply["state"].clone())
}

#[test]
fn a_session_over_http_keeps_its_state_branches_and_goes_back() {
    if !belongs_here(&["root", "user"]) {
        return;
    }
    let mut server = served();
    let session =
        open(&server, json!({ "inputs": { "n": 3 }, "files": { "a.txt": { "text": "here" } } }));
    let one = |path: &str| format!("{session}/{path}");
    assert_eq!(run(&server, &session, "x = [n, open('a.txt').read()]\nx").0, json!([3, "here"]));
    let crash = "x = 0\nimport ctypes\nctypes.string_at(0)";
    assert_eq!(run(&server, &session, crash).1, "restored");
    assert_eq!(run(&server, &session, "x"), (json!([3, "here"]), json!("kept")));
    // What is kept, and gone back to.
    let first = json!({ "name": "first step" });
    assert_eq!(ask(&server, "POST", &one("checkpoints"), first.clone()).0, 204);
    run(&server, &session, "x = 'later'");
    let (_, variables) = ask(&server, "GET", &one("variables"), Value::Null);
    assert!(variables["variables"].to_string().contains("\"name\":\"x\""), "{variables}");
    assert_eq!(ask(&server, "POST", &one("rollback"), first).0, 204);
    assert_eq!(run(&server, &session, "x[0]").0, 3);
    let (_, kept) = ask(&server, "GET", &one("checkpoints"), Value::Null);
    assert_eq!(kept, json!({ "names": ["first step"] }));
    assert_eq!(ask(&server, "DELETE", &one("checkpoints/first%20step"), Value::Null).0, 204);
    let (status, none) = ask(&server, "POST", &one("rollback"), json!({ "name": "first step" }));
    assert_eq!((status, &none["code"]), (404, &json!("not_found")));
    // A branch goes on beside it.
    let (status, made) = ask(&server, "POST", &one("branch"), Value::Null);
    assert_eq!((status, made["parent"].as_str()), (201, session.strip_prefix("/v1/sessions/")));
    let branch = format!("/v1/sessions/{}", made["id"].as_str().unwrap());
    assert_eq!(run(&server, &branch, "x.append('branch')\nlen(x)").0, 3);
    assert_eq!(run(&server, &session, "len(x)").0, 2);
    // Both count, and belong to nobody else.
    let (status, full) = ask(&server, "POST", "/v1/sessions", json!({}));
    assert_eq!((status, &full["code"]), (429, &json!("quota")));
    server.key = "two".into();
    for (method, path) in [("GET", ""), ("DELETE", ""), ("POST", "/branch"), ("GET", "/variables")]
    {
        assert_eq!(ask(&server, method, &format!("{session}{path}"), Value::Null).0, 404);
    }
    let body = json!({ "code": "x" });
    assert_eq!(ask(&server, "POST", &one("runs"), body.clone()).0, 404);
    assert_eq!(ask(&server, "GET", "/v1/sessions", Value::Null).1, json!({ "sessions": [] }));
    server.key = "one".into();
    // It takes its branch along.
    assert_eq!(ask(&server, "DELETE", &session, Value::Null).0, 204);
    for path in [&session, &branch] {
        let (status, gone) = ask(&server, "GET", path, Value::Null);
        assert_eq!((status, &gone["code"]), (410, &json!("session_ended")), "{gone}");
        assert_eq!(ask(&server, "POST", &format!("{path}/runs"), body.clone()).0, 410);
    }
    assert_eq!(ask(&server, "GET", "/v1/sessions", Value::Null).1, json!({ "sessions": [] }));
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}

#[test]
fn a_session_over_http_is_interrupted_ends_when_idle_and_with_the_server() {
    if !belongs_here(&["root", "user"]) {
        return;
    }
    let server = served();
    let session = open(&server, json!({}));
    run(&server, &session, "x = 1");
    let endless = json!({ "code": "x = 0\nwhile True:\n    pass" }).to_string();
    let path = format!("{session}/runs");
    let stream = server.send("POST", &path, "Accept: text/event-stream\r\n", &endless);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut data_of = |name: &str| -> Value {
        let event = format!("event: {name}");
        assert!(lines.any(|line| line == event), "there is no {name}");
        serde_json::from_str(lines.next().unwrap().strip_prefix("data: ").unwrap()).unwrap()
    };
    // It is told that the run has begun, although the run says nothing.
    let id = data_of("run")["id"].clone();
    assert_eq!(ask(&server, "GET", &session, Value::Null).1["runs"], json!([id]));
    let (status, ended) = ask(&server, "POST", &format!("{session}/interrupt"), Value::Null);
    assert_eq!((status, ended), (202, json!({ "runs": [id] })));
    let reply = data_of("outcome");
    let outcome = &reply["outcome"];
    assert_eq!((&outcome["id"], &outcome["error"]["kind"]), (&id, &json!("cancelled")));
    assert_eq!(reply["state"], "restored");
    assert_eq!(run(&server, &session, "x").0, 1);
    // One that nobody uses ends by itself, and says why.
    let idle = open(&server, json!({ "policy": { "limits": { "idle_ms": 100 } } }));
    server.wait_for(&idle, "session_ended");
    let (status, gone) = ask(&server, "GET", &idle, Value::Null);
    assert!(status == 410 && gone["detail"].to_string().contains("100 ms"), "{gone}");
    // What runs in one is answered before the server ends, and then nothing is left of it.
    let late =
        json!({ "code": "print('up', flush=True)\nimport time\ntime.sleep(1)\nx" }).to_string();
    let stream = server.send("POST", &path, "Accept: text/event-stream\r\n", &late);
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("up\\n")));
    let below = descendants(server.child.id());
    server.signal();
    let text: String = lines.collect();
    assert!(text.contains("\"result\":1") && text.contains("\"state\":\"kept\""), "{text}");
    server.end(&below);
}
