//! Requests that are sent again.

use crate::server::*;
use crate::shared::THERE;

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

#[tokio::test]
async fn a_run_of_a_session_is_sent_again_as_any_other() {
    let server = Server::start(|_| {}).await;
    let piece = |session: &str, key: &str, code: &str| {
        let headers = format!("Idempotency-Key: {key}\r\nContent-Type: application/json\r\n");
        let path = format!("/v1/sessions/{session}/runs");
        request("acme", "POST", &path, &headers, &format!(r#"{{"code": "{code}"}}"#))
    };
    let first = server.ask(&piece(THERE, "one", "x")).await;
    assert_eq!((first.status, first.header("idempotency-replayed")), (200, None), "{first:?}");
    let again = server.ask(&piece(THERE, "one", "x")).await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.header("carboy-run"), first.header("carboy-run"));
    for changed in [piece(THERE, "one", "y"), piece("other", "one", "x"), with_key("one", "x")] {
        let refused = server.ask(&changed).await;
        assert_eq!((refused.status, refused.code().as_str()), (422, "idempotency"));
    }
    // What ended with its session without having run may be tried again, and is told of each time.
    for _ in 0..2 {
        let lost = server.ask(&piece(THERE, "two", "lose")).await;
        assert_eq!((lost.status, lost.header("idempotency-replayed")), (410, None));
    }
    // What ran before that is still known.
    assert_eq!(server.ask(&piece(THERE, "one", "x")).await.body, first.body);
    server.end().await;
}

fn delete(key: &str, headers: &str) -> String {
    request(key, "DELETE", "/v1/runs", headers, "")
}

#[tokio::test]
async fn a_run_is_ended_by_its_key_whether_its_request_has_come_or_not() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.send(&with_key("gone", "hold")).await;
    one(&server.begun).await;
    drop(client);
    let key = "Idempotency-Key: gone\r\n";
    // The same key of another tenant is another, which nobody has sent yet.
    assert_eq!(server.ask(&delete("other", key)).await.status, 204);
    let ended = server.ask(&delete("acme", key)).await;
    assert_eq!((ended.status, &ended.json()["state"]), (202, &"under_way".into()));
    one(&server.dropped).await;
    let over = until(async || {
        let over = server.ask(&delete("acme", key)).await;
        (over.status == 200).then_some(over)
    })
    .await;
    assert_eq!(over.json()["state"], "ended");
    // One whose request comes later, or has come in part.
    let whole = with_key("late", "ok");
    let mut client = server.connect().await;
    client.send(&whole[..whole.len() - 1]).await;
    until(async || {
        let list = server.ask(&get("acme", "/v1/runs")).await.json();
        (list["under_way"].as_array().unwrap().len() == 1).then_some(())
    })
    .await;
    let late = "Idempotency-Key: late\r\n";
    assert_eq!(server.ask(&delete("acme", late)).await.status, 204);
    client.send("}").await;
    for answer in [client.answer().await, server.ask(&whole).await] {
        assert_eq!((answer.status, answer.code().as_str()), (409, "cancelled"));
    }
    assert_eq!(server.behind.policies.lock().unwrap().len(), 1, "there was a second run");
    for wrong in ["", "Idempotency-Key: \r\n", "Idempotency-Key: a\r\nIdempotency-Key: a\r\n"] {
        assert_eq!(server.ask(&delete("acme", wrong)).await.code(), "request");
    }
    assert_eq!(server.ask(&delete("watcher", key)).await.code(), "scope");
    server.end().await;
}
