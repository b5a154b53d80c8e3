//! Requests that are sent again.

use crate::server::*;

fn with_key(key: &str, code: &str) -> String {
    let headers = format!("Idempotency-Key: {key}\r\nContent-Type");
    post("acme", code).replace("Content-Type", &headers)
}

#[tokio::test]
async fn the_same_key_and_body_are_one_run_while_it_is_under_way_and_after() {
    let server = Server::start(|_| {}).await;
    let mut first = server.connect().await;
    first.send(&with_key("one", "hold")).await;
    one(&server.begun).await;
    let mut second = server.connect().await;
    second.send(&with_key("one", "hold")).await;
    // The same key of another tenant is another.
    let other = server.ask(&with_key("one", "ok").replace("Bearer acme", "Bearer other")).await;
    assert_eq!((other.status, other.header("idempotency-replayed")), (200, None));
    server.release.add_permits(1);
    let (first, second) = (first.answer().await, second.answer().await);
    assert_eq!((first.status, first.header("idempotency-replayed")), (200, None));
    let third = server.ask(&with_key("one", "hold")).await;
    for again in [second, third] {
        assert_eq!((again.status, &again.body), (200, &first.body));
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
        assert_eq!(again.header("carboy-run"), first.header("carboy-run"));
    }
    for changed in [
        with_key("one", "ok"),
        with_key("one", "hold").replace("/v1/runs", "/v1/runs?artifacts=none"),
    ] {
        let refused = server.ask(&changed).await;
        assert_eq!((refused.status, refused.code().as_str()), (422, "idempotency"));
    }
    assert_eq!(server.behind.policies.lock().unwrap().len(), 2, "there was a second run");
    server.end().await;
}

#[tokio::test]
async fn a_run_with_a_key_goes_on_without_its_client() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.send(&with_key("lost", "hold")).await;
    one(&server.begun).await;
    drop(client);
    let mut again = server.connect().await;
    again.send(&with_key("lost", "hold")).await;
    server.release.add_permits(1);
    let answer = again.answer().await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(server.behind.policies.lock().unwrap().len(), 1, "there was a second run");
    server.end().await;
}

#[tokio::test]
async fn what_was_not_run_may_be_tried_again() {
    let server = Server::start(|_| {}).await;
    for _ in 0..2 {
        let busy = server.ask(&with_key("busy", "busy")).await;
        assert_eq!((busy.status, busy.header("idempotency-replayed")), (503, None));
    }
    // Our own failure may have run something.
    for replayed in [None, Some("true")] {
        let failed = server.ask(&with_key("ours", "engine")).await;
        assert_eq!((failed.status, failed.header("idempotency-replayed")), (500, replayed));
    }
    let events = "Accept: text/event-stream\r\nContent-Type";
    let both = server.ask(&with_key("events", "ok").replace("Content-Type", events)).await;
    assert_eq!((both.status, both.code().as_str()), (400, "request"));
    server.end().await;
}
