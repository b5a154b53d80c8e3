//! Runs as they happen.

use serde_json::{Value, json};

use crate::server::*;

fn streaming(code: &str) -> String {
    let headers = "Accept: text/event-stream\r\nConnection: close\r\nContent-Type";
    post("acme", code).replace("Content-Type", headers)
}

/// The events of a chunked answer, each with its data.
fn events(text: &str) -> Vec<(String, Value)> {
    let (head, mut rest) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/event-stream"), "{head}");
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        body += &after[..size];
        rest = after[size..].strip_prefix("\r\n").unwrap_or("");
    }
    let parts = body.split("\n\n").filter(|part| !part.is_empty() && !part.starts_with(':'));
    parts
        .map(|part| {
            let (name, data) = part.split_once('\n').unwrap();
            let name = name.strip_prefix("event: ").unwrap();
            (name.into(), serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
        })
        .collect()
}

#[tokio::test]
async fn output_comes_before_the_outcome_and_cannot_forge_an_event() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.send(&streaming("talk")).await;
    let told = events(&client.is_closed().await);
    let names: Vec<_> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["run", "output", "output", "outcome"]);
    assert_eq!(told[1].1, json!({ "stream": "stdout", "text": "one\n" }));
    assert_eq!(told[2].1["text"], "two\ndata: three");
    assert_eq!(told[3].1["id"], told[0].1["id"]);
    server.end().await;
}

#[tokio::test]
async fn a_run_that_is_refused_at_once_is_a_plain_answer() {
    let server = Server::start(|_| {}).await;
    let answer = server.ask(&streaming("busy")).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "busy"));
    server.end().await;
}

#[tokio::test]
async fn a_silent_run_can_be_ended_by_its_id() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.send(&streaming("wait")).await;
    let begin = client.read_until(|text| text.contains("\"}\n\n")).await;
    let id = begin.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let path = format!("/v1/runs/{id}");
    assert_eq!(server.ask(&request("acme", "DELETE", &path, "", "")).await.status, 202);
    let rest = client.is_closed().await;
    assert!(
        rest.contains("event: failed\ndata: {") && rest.contains("\"code\":\"cancelled\""),
        "{rest}"
    );
    server.end().await;
}

#[tokio::test]
async fn a_call_is_told_on_the_stream_and_answered_beside_it() {
    let server = Server::start(|_| {}).await;
    let json = "Content-Type: application/json\r\n";
    let body = json!({ "code": "tool", "tools": [{ "name": "add" }] }).to_string();
    let events = format!("{json}Accept: text/event-stream\r\nConnection: close\r\n");
    let mut client = server.connect().await;
    client.send(&request("acme", "POST", "/v1/runs", &events, &body)).await;
    let begin = client
        .read_until(|text| text.contains("event: call\n") && text.ends_with("\n\n\r\n"))
        .await;
    // What the guest wrote has no line end in it.
    assert!(
        begin.contains("data: {\"call\":7,\"tool\":\"add\",\"args\":[1, 2],\"kwargs\":{}}\n"),
        "{begin}"
    );
    let id = begin.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let path = format!("/v1/runs/{id}/answers");
    let answer = |key: &str, body: &str| request(key, "POST", &path, json, body);
    let right = r#"{"call": 7, "result": {"sum": 3}}"#;
    assert_eq!(server.ask(&answer("other", right)).await.status, 404);
    assert_eq!(server.ask(&answer("acme", r#"{"call": "7"}"#)).await.status, 400);
    let unasked = server.ask(&answer("acme", r#"{"call": 8, "result": 1}"#)).await;
    assert_eq!((unasked.status, unasked.code().as_str()), (409, "call"));
    let mut answering = server.connect().await;
    answering.send(&answer("acme", right)).await;
    let said = answering.read_until(|text| text.ends_with("\r\n\r\n")).await;
    assert!(said.starts_with("HTTP/1.1 204 "), "{said}");
    let rest = client.is_closed().await;
    assert!(
        rest.contains("event: outcome\n") && rest.contains("\"result\":{\"sum\": 3}"),
        "{rest}"
    );
    // It is over, and so are its calls.
    assert_eq!(server.ask(&answer("acme", right)).await.status, 404);
    drop(answering);
    server.end().await;
}
