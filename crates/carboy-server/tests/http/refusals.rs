//! Requests that are answered before their body was read, by clients that send head and body apart.

use crate::server::{Answer, Server, get, one, post, request, until};

/// The head of a request, and its body.
fn parted(whole: &str) -> (&str, &str) {
    whole.split_at(whole.find("\r\n\r\n").unwrap() + 4)
}

/// Waits until somebody was refused so.
async fn refused(server: &Server, code: &str) {
    let line = format!("carboy_problems_total{{code=\"{code}\"}} 1\n");
    until(async || {
        let told = server.ask(&get("watcher", "/metrics")).await;
        told.body.contains(&line).then_some(())
    })
    .await;
}

fn closes(answer: &Answer) -> bool {
    answer.header("connection") == Some("close")
}

#[tokio::test]
async fn a_refusal_before_the_body_leaves_the_connection_as_it_was() {
    let server = Server::start(|config| {
        config.bounds.body_ms = 600_000;
        config.tenants.get_mut("acme").unwrap().runs_at_once = 1;
    })
    .await;
    let mut first = server.connect().await;
    first.send(&post("acme", "hold")).await;
    one(&server.begun).await;
    let unfit = request("acme", "POST", "/v1/runs", "Content-Type: text/plain\r\n", "print(1)");
    let cases = [
        (post("nobody", "ok"), 401, "key"),
        (post("acme", "ok"), 429, "quota"),
        (request("acme", "POST", "/v1/nothing", "", "{}"), 404, "not_found"),
    ];
    for (whole, status, code) in cases {
        let mut client = server.connect().await;
        let (head, body) = parted(&whole);
        client.send(head).await;
        refused(&server, code).await;
        client.send(body).await;
        let answer = client.answer().await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code));
        assert!(!closes(&answer), "{answer:?}");
        client.send(&get("acme", "/v1/runs")).await;
        assert_eq!(client.answer().await.status, 200);
    }
    server.release.add_permits(1);
    assert_eq!(first.answer().await.status, 200);
    let (head, body) = parted(&unfit);
    first.send(head).await;
    refused(&server, "media_type").await;
    first.send(body).await;
    assert_eq!(first.answer().await.status, 415);
    first.send(&post("acme", "ok")).await;
    assert_eq!(first.answer().await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn an_answer_says_that_it_is_the_last_if_the_body_is_not_waited_for() {
    let server = Server::start(|config| config.bounds.body_ms = 600_000).await;
    let head = |more: &str| {
        format!(
            "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer nobody\r\n{more}\r\n"
        )
    };
    for more in [
        "Content-Length: 65537\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 20\r\nExpect: 100-continue\r\n",
    ] {
        let mut client = server.connect().await;
        client.send(&head(more)).await;
        let answer = client.answer().await;
        assert!(answer.status == 401 && closes(&answer), "{more}: {answer:?}");
        client.is_closed().await;
    }
    server.end().await;
    let server = Server::start(|config| config.bounds.body_ms = 50).await;
    let mut client = server.connect().await;
    client.send(&head("Content-Length: 20\r\n")).await;
    let answer = client.answer().await;
    assert!(answer.status == 401 && closes(&answer), "{answer:?}");
    client.is_closed().await;
    server.end().await;
}
