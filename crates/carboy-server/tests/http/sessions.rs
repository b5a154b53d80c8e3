//! What the door says of sessions before there is one. The suite of `carboy` has real ones.

use serde_json::json;

use crate::server::*;

const JSON: &str = "Content-Type: application/json\r\n";

fn open(key: &str, body: &str) -> String {
    request(key, "POST", "/v1/sessions", JSON, body)
}

#[tokio::test]
async fn a_session_that_is_being_opened_has_a_place_until_its_caller_goes() {
    let change = |config: &mut carboy_server::http::DoorConfig| {
        config.tenants.get_mut("acme").unwrap().sessions_at_once = 1;
    };
    let server = Server::start(change).await;
    let mut client = server.connect().await;
    client.send(&open("acme", "{}")).await;
    one(&server.begun).await;
    let full = server.ask(&open("acme", "{}")).await;
    assert_eq!((full.status, full.code().as_str()), (429, "quota"));
    assert_eq!(full.header("retry-after"), Some("1"));
    let list = server.ask(&get("acme", "/v1/sessions")).await;
    assert_eq!(list.json(), json!({ "sessions": [] }), "nobody has it yet");
    drop(client);
    one(&server.dropped).await;
    // Its place is free, and that of one that cannot be opened too.
    for _ in 0..2 {
        let mut client = server.connect().await;
        client.send(&open("acme", "{}")).await;
        one(&server.begun).await;
        server.release.add_permits(1);
        let busy = client.answer().await;
        assert_eq!((busy.status, busy.code().as_str()), (503, "busy"));
    }
    server.end().await;
}

#[tokio::test]
async fn what_cannot_be_opened_and_what_is_not_there_is_said() {
    let server = Server::start(|_| {}).await;
    let mount = r#"{"mounts": {"/data": "/etc"}}"#;
    let file = r#"{"files": {"a": {"path": "/etc/passwd"}}}"#;
    for (body, status, code) in [
        ("", 400, "request"),
        ("7", 400, "request"),
        (r#"{"code": "x"}"#, 400, "request"),
        (mount, 400, "request"),
        (file, 400, "request"),
        (r#"{"policy": {"limits": {"idle_ms": 0}}}"#, 400, "request"),
    ] {
        let answer = server.ask(&open("acme", body)).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{body}");
    }
    assert_eq!(server.ask(&open("watcher", "{}")).await.code(), "scope");
    assert!(server.behind.policies.lock().unwrap().is_empty(), "something was opened");
    let of_another = "01234567-0123456789abcdef0123456789abcdef";
    for (id, status, code) in [("x", 404, "not_found"), (of_another, 410, "session_ended")] {
        let name = r#"{"name": "x"}"#;
        for (method, path, body) in [
            ("GET", "", ""),
            ("DELETE", "", ""),
            ("POST", "/runs", r#"{"code": "x"}"#),
            ("POST", "/branch", ""),
            ("POST", "/interrupt", ""),
            ("GET", "/variables", ""),
            ("GET", "/checkpoints", ""),
            ("POST", "/checkpoints", name),
            ("DELETE", "/checkpoints/x", ""),
            ("POST", "/rollback", name),
        ] {
            let path = format!("/v1/sessions/{id}{path}");
            let answer = server.ask(&request("acme", method, &path, JSON, body)).await;
            assert_eq!((answer.status, answer.code().as_str()), (status, code), "{method} {path}");
            assert_eq!(server.ask(&request("nobody", method, &path, JSON, body)).await.status, 401);
        }
    }
    server.end().await;
}
