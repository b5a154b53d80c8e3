//! Rows of the catalogue of attacks that need a real server with real jars behind it: odd sources, many who end one
//! run, runs with policies of their own, more than there is place for, and a server that is killed.

use std::io::{Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use carboy_protocol::Walls;
use serde_json::{Value, json};

use crate::serve::Served;
use crate::support::*;

fn ask(server: &Served, path: &str, body: &Value) -> (u16, Value) {
    let (status, text) = server.ask("POST", path, &body.to_string());
    (status, serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")))
}

fn ended(server: Served) {
    let below = descendants(server.child.id());
    server.signal();
    server.end(&below);
}

#[test]
fn odd_sources_have_a_typed_answer() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::with_settings("127.0.0.1:0", Folder::new());
    for (code, status, kind) in [
        ("", 200, None),
        ("# only a comment", 200, None),
        ("\u{feff}result = 1", 200, Some("exception")),
        ("result = 1\r\nresult += 1\r\n", 200, None),
        ("result = '\u{202e}\u{0}'", 200, Some("exception")),
        ("\t\x0c\n", 200, None),
        ("if", 200, Some("exception")),
    ] {
        let (found, outcome) = ask(&server, "/v1/runs", &json!({ "code": code }));
        assert_eq!(found, status, "{code:?}: {outcome}");
        assert_eq!(outcome["error"]["kind"].as_str(), kind, "{code:?}: {outcome}");
    }
    // Longer than a source may be, more inputs and more files than there may be, and text that is none.
    let long = "#".repeat(5 << 20);
    let inputs: serde_json::Map<_, _> =
        (0..100_000).map(|at| (format!("a{at}"), json!(1))).collect();
    let files: serde_json::Map<_, _> =
        (0..100_000).map(|at| (format!("a{at}"), json!({ "text": "" }))).collect();
    for body in [
        json!({ "code": long }),
        json!({ "code": "", "inputs": inputs }),
        json!({ "code": "", "files": files }),
    ] {
        let (status, answer) = ask(&server, "/v1/runs", &body);
        let is_typed = status == 200 || answer["code"].is_string();
        assert!([200, 400, 413].contains(&status) && is_typed, "{status}");
    }
    for body in [r#"{"code": "\ud800"}"#, r#"{"code": "a", "code": "b"}"#, "{\"code\": \"\u{1}\"}"]
    {
        let (status, text) = server.ask("POST", "/v1/runs", body);
        assert_eq!(status, 400, "{body}: {text}");
    }
    let mut stream = server.send("POST", "/v1/runs", "", "");
    stream.read_to_end(&mut Vec::new()).unwrap();
    let mut stream = server.connect();
    let head = format!(
        "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 12\r\n\r\n",
        server.key
    );
    stream.write_all(&[head.as_bytes(), b"{\"code\":\"\xff\"}"].concat()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 400 "), "{text}");
    ended(server);
}

#[test]
fn a_hundred_who_end_a_real_run_end_it_once_and_leave_nothing() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::with_settings("127.0.0.1:0", Folder::new());
    let body = json!({ "code": "print('up', flush=True)\nwhile True: pass" }).to_string();
    let mut stream = server.send("POST", "/v1/runs", "Accept: text/event-stream\r\n", &body);
    let mut text = crate::serve::read_until(&mut stream, "up\\n");
    let id = text.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let path = format!("/v1/runs/{id}");
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                let (status, answer) = server.ask("DELETE", &path, "");
                assert!([200, 202].contains(&status), "{status}: {answer}");
            });
        }
    });
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("event: outcome").count(), 1, "{text}");
    assert!(text.contains("\"kind\":\"cancelled\""), "{text}");
    server.wait_for("/metrics", "carboy_runs_running 0\n");
    assert_eq!(ask(&server, "/v1/runs", &json!({ "code": "result = 1" })).0, 200);
    ended(server);
}

#[test]
fn runs_at_once_have_each_its_own_policy_and_inputs() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let server = Served::with_settings("127.0.0.1:0", Folder::new());
    let code = "import resource\nresult = [resource.getrlimit(resource.RLIMIT_NOFILE)[0], mine, open('a').read()]";
    let own = |open_files: u64| {
        let policy =
            json!({ "walls": walls(), "limits": { "open_files": open_files, "wall_ms": 300_000 } });
        let files = json!({ "a": { "text": format!("file {open_files}") } });
        let job = json!({ "code": code, "inputs": { "mine": open_files }, "files": files, "policy": policy });
        let (status, outcome) = ask(&server, "/v1/runs", &job);
        assert_eq!(status, 200, "{outcome}");
        outcome["result"].clone()
    };
    // What a jar has at all is a little more than what its code may open, the same for each.
    let extra = own(20)[0].as_u64().unwrap() - 20;
    // A tenant has 64 at once.
    for _ in 0..2 {
        thread::scope(|scope| {
            for number in 0..50 {
                let own = &own;
                scope.spawn(move || {
                    let open_files = 20 + number % 45;
                    let file = format!("file {open_files}");
                    assert_eq!(own(open_files), json!([open_files + extra, open_files, file]));
                });
            }
        });
    }
    ended(server);
}

/// The ids of the runs under way, once there are so many.
fn under_way(server: &Served, count: usize) -> Vec<String> {
    let started = Instant::now();
    loop {
        let list: Value = serde_json::from_str(&server.ask("GET", "/v1/runs", "").1).unwrap();
        let under_way = list["under_way"].as_array().unwrap();
        if under_way.len() == count {
            return under_way.iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
        }
        assert!(under_way.len() < count && started.elapsed() < LONG, "{list}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_flood_of_runs_without_end_keeps_no_other_tenant_out() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let keys = [("flood", 4), ("honest", 8)].map(|(name, most)| {
        format!(
            "[tenants.{name}]\nruns_at_once = {most}\nkeys = [{{ sha256 = \"{}\", scopes = [\"run\", \"read\", \"metrics\"] }}]\n\
             ceiling = {{ walls = \"{}\", limits = {{ wall_ms = 300_000, cpu_ms = 300_000, memory_bytes = \"64 MiB\" }} }}\n",
            carboy_server::http::key_digest(name),
            walls().as_str()
        )
    });
    let settings = Folder::new();
    let file = settings.0.join("serve.toml");
    std::fs::write(&file, keys.concat()).unwrap();
    let options = ["--config", file.to_str().unwrap()];
    let mut server = Served::of(&options, "127.0.0.1:0", Folder::new());
    server.key = "flood".into();
    server.wait_for("/readyz", "\"ready\"");
    // Those that never end take every place of their tenant, and all are sent before anybody reads an answer.
    let post =
        |code: &str| server.send("POST", "/v1/runs", "", &json!({ "code": code }).to_string());
    let mut streams: Vec<_> = (0..200).map(|_| post("import time\ntime.sleep(600)")).collect();
    let asleep = under_way(&server, 4);
    streams.extend((0..200).map(|_| post("result = 1")));
    let mut idle: Vec<_> = (0..100).map(|_| server.connect()).collect();
    for (number, stream) in idle.iter_mut().enumerate() {
        // A header that never ends, and half of one. Who was closed for another is no fault.
        let half = if number % 2 == 0 {
            "POST /v1/runs HTTP/1.1\r\nX: ".to_owned() + &"x".repeat(8000)
        } else {
            "GET /".into()
        };
        stream.write_all(half.as_bytes()).ok();
    }
    server.key = "honest".into();
    for _ in 0..20 {
        let (status, outcome) = ask(&server, "/v1/runs", &json!({ "code": "result = 6 * 7" }));
        assert_eq!((status, &outcome["result"]), (200, &json!(42)), "{outcome}");
    }
    server.key = "flood".into();
    for id in &asleep {
        let path = format!("/v1/runs/{id}");
        assert_eq!(server.ask("DELETE", &path, "").0, 202);
    }
    let (mut ran, mut refused) = (0, 0);
    for stream in &mut streams {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        match text.split(' ').nth(1) {
            Some("200") => ran += 1,
            Some("429") => {
                assert!(text.to_lowercase().contains("retry-after: "), "{text}");
                refused += 1;
            }
            _ => panic!("{text}"),
        }
    }
    assert_eq!((ran, refused), (4, streams.len() - 4));
    drop((streams, idle));
    server.wait_for("/metrics", "carboy_runs_running 0\n");
    ended(server);
}

#[test]
fn a_server_that_is_killed_takes_its_jars_with_it_and_the_next_clears_up() {
    if !belongs_here(&["root", "user-nested"]) {
        return;
    }
    let mut server = Served::with_settings("127.0.0.1:0", Folder::new());
    server.wait_for("/readyz", "\"ready\"");
    let (status, told) = server.ask("POST", "/v1/files", "an uploaded file");
    assert_eq!(status, 201, "{told}");
    let body =
        json!({ "code": "print('up', flush=True)\nopen('a', 'w').write('x')\nwhile True: pass" });
    let headers = "Accept: text/event-stream\r\n";
    let mut stream = server.send("POST", "/v1/runs", headers, &body.to_string());
    crate::serve::read_until(&mut stream, "up\\n");
    if walls() == Walls::Full {
        assert_eq!(ask(&server, "/v1/sessions", &json!({})).0, 201);
    }
    let below = descendants(server.child.id());
    assert!(!below.is_empty());
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    wait_until_gone(&below);
    // Whoever waited hears no outcome.
    let mut rest = String::new();
    stream.read_to_string(&mut rest).ok();
    assert!(!rest.contains("event: outcome"), "{rest}");
    let folder = std::mem::replace(&mut server.folder, Folder::new());
    assert!(std::fs::read_dir(&folder.0).unwrap().next().is_some(), "the uploaded file");
    let next = Served::with_settings("127.0.0.1:0", folder);
    next.wait_for("/readyz", "\"ready\"");
    assert_eq!(ask(&next, "/v1/runs", &json!({ "code": "result = 1" })).0, 200);
    // It ends with an empty folder: what the first one left is gone too.
    ended(next);
}
