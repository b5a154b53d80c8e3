//! Clients that want to take more than theirs.

use tokio::io::AsyncReadExt;

use crate::server::*;

/// Lets the runs of these clients end, and the server when each has its answer.
async fn all_are_answered(server: Server, mut held: Vec<Client>) {
    server.release.add_permits(held.len());
    for client in &mut held {
        assert_eq!(client.answer().await.status, 200);
    }
    drop(held);
    server.end().await;
}

#[tokio::test]
async fn a_huge_header_is_refused_and_nobody_notices() {
    let server = Server::start(|_| {}).await;
    let long = format!("X-Long: {}\r\n", "x".repeat(1 << 20));
    let many = "X-Many: x\r\n".repeat(10_000);
    for headers in [long, many] {
        let mut client = server.connect().await;
        client.send(&request("acme", "POST", "/v1/runs", &headers, "{}")).await;
        let said = client.is_closed().await;
        // It may be cut off before it has read the answer.
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 431 "), "{said}");
    }
    assert_eq!(server.run("acme", "ok").await.status, 200);
    assert!(server.behind.policies.lock().unwrap().len() == 1);
    server.end().await;
}

#[tokio::test]
async fn connections_that_send_little_or_nothing_keep_nobody_out() {
    let server = Server::start(|config| config.bounds.connections = 4).await;
    let mut answered = server.connect().await;
    answered.send(&post("acme", "ok")).await;
    assert_eq!(answered.answer().await.status, 200);
    one(&server.begun).await;
    let mut held = server.connect().await;
    held.send(&post("acme", "hold")).await;
    one(&server.begun).await;
    let mut idle = Vec::new();
    for number in 0..40 {
        let mut client = server.connect().await;
        if number % 2 == 0 {
            client.send("POST /v1/runs HTTP/1.1\r\nHost: local").await;
        }
        idle.push(client);
    }
    assert_eq!(server.run("acme", "ok").await.status, 200);
    // The first of them made room, and so did one that had its answer.
    assert_eq!(answered.is_closed().await, "");
    assert_eq!(idle[0].is_closed().await, "");
    // One that is at work is not among those that make room.
    server.release.add_permits(1);
    assert_eq!(held.answer().await.status, 200);
    drop((held, idle));
    server.end().await;
}

#[tokio::test]
async fn a_request_that_never_comes_is_not_waited_for() {
    let server = Server::start(|config| config.bounds.header_ms = 50).await;
    for text in ["", "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n"] {
        let mut client = server.connect().await;
        client.send(text).await;
        client.is_closed().await;
    }
    server.end().await;
}

#[tokio::test]
async fn a_body_that_trickles_is_not_waited_for() {
    let server = Server::start(|config| config.bounds.body_ms = 50).await;
    let mut client = server.connect().await;
    let whole = post("acme", "ok");
    client.send(&whole[..whole.len() - 1]).await;
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (408, "body_time"));
    assert_eq!(server.run("acme", "ok").await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn all_bodies_together_are_bounded_until_their_runs_are_over() {
    let server = Server::start(|config| {
        (config.bounds.body_bytes, config.bounds.bodies_bytes) = (64 << 10, 64 << 10);
    })
    .await;
    let padded = |code: &str| {
        let body = format!(r#"{{"code": "{code}"}}{}"#, " ".repeat(40 << 10));
        request("acme", "POST", "/v1/runs", "Content-Type: application/json\r\n", &body)
    };
    let mut client = server.connect().await;
    client.send(&padded("hold")).await;
    one(&server.begun).await;
    let refused = server.ask(&padded("ok")).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "bodies"));
    assert!(refused.header("retry-after").is_some());
    server.release.add_permits(1);
    assert_eq!(client.answer().await.status, 200);
    assert_eq!(server.ask(&padded("ok")).await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn answers_that_a_jar_does_not_read_are_bounded_too() {
    let server = Server::start(|config| {
        (config.bounds.body_bytes, config.bounds.bodies_bytes) = (64 << 10, 64 << 10);
    })
    .await;
    let mut client = server.connect().await;
    let json = "Content-Type: application/json\r\nConnection: close\r\n";
    let body = r#"{"code": "unread", "tools": [{"name": "add"}]}"#;
    let events = format!("{json}Accept: text/event-stream\r\n");
    client.send(&request("acme", "POST", "/v1/runs", &events, body)).await;
    let begin = client.read_until(|text| text.matches("event: call\n").count() == 2).await;
    let id = begin.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let answer = |call: u32| {
        let body = format!(r#"{{"call": {call}}}{}"#, " ".repeat(40 << 10));
        request("acme", "POST", &format!("/v1/runs/{id}/answers"), json, &body)
    };
    let mut answering = server.connect().await;
    answering.send(&answer(1)).await;
    assert!(answering.is_closed().await.starts_with("HTTP/1.1 204 "));
    let refused = server.ask(&answer(2)).await;
    assert_eq!((refused.status, refused.code().as_str()), (503, "bodies"));
    server.release.add_permits(1);
    assert!(client.is_closed().await.contains("event: outcome\n"));
    let padded = format!(r#"{{"code": "ok"}}{}"#, " ".repeat(40 << 10));
    assert_eq!(server.ask(&request("acme", "POST", "/v1/runs", json, &padded)).await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn a_caller_that_goes_away_ends_its_run() {
    let server = Server::start(|_| {}).await;
    let next = post("acme", "ok");
    for (headers, more) in
        [("", ""), ("Accept: text/event-stream\r\n", ""), ("", "x"), ("", next.as_str())]
    {
        let mut client = server.connect().await;
        let held = post("acme", "hold").replace("Content-Type", &format!("{headers}Content-Type"));
        client.send(&(held + more)).await;
        one(&server.begun).await;
        drop(client);
        one(&server.dropped).await;
    }
    let page = server.ask(&get("watcher", "/metrics")).await.body;
    assert!(page.contains("carboy_abandoned_total 4\n"), "{page}");
    server.end().await;
}

#[tokio::test]
async fn a_caller_that_takes_nothing_is_cut_off() {
    let server = Server::start(|config| config.bounds.write_ms = 50).await;
    let mut client = server.connect().await;
    client
        .send(
            &post("acme", "flood")
                .replace("Content-Type", "Accept: text/event-stream\r\nContent-Type"),
        )
        .await;
    one(&server.dropped).await;
    assert_eq!(server.run("acme", "ok").await.status, 200);
    drop(client);
    server.end().await;
}

#[tokio::test]
async fn a_tenant_that_has_every_connection_it_can_get_keeps_nobody_out() {
    let server = Server::start(|config| config.bounds.connections = 16).await;
    let mut held = Vec::new();
    let refused = loop {
        let mut client = server.connect().await;
        client.send(&post("acme", "hold")).await;
        tokio::select! {
            () = one(&server.begun) => held.push(client),
            answer = client.answer() => break answer,
        }
    };
    assert_eq!((refused.status, refused.code().as_str()), (429, "quota"));
    assert!(refused.header("retry-after").is_some());
    // Two are for strangers, and two for each of the two other tenants.
    assert_eq!(held.len(), 10);
    assert_eq!(server.run("other", "ok").await.status, 200);
    let health = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(server.ask(health).await.status, 200);
    all_are_answered(server, held).await;
}

#[tokio::test]
async fn a_tenant_whose_bodies_take_all_they_can_leaves_others_theirs() {
    let server = Server::start(|config| {
        (config.bounds.body_bytes, config.bounds.bodies_bytes) = (64 << 10, 256 << 10);
    })
    .await;
    let padded = |key: &str| {
        let body = format!(r#"{{"code": "hold"}}{}"#, " ".repeat(40 << 10));
        request(key, "POST", "/v1/runs", "Content-Type: application/json\r\n", &body)
    };
    let mut held = Vec::new();
    for key in ["acme", "acme", "acme", "acme", "other"] {
        let mut client = server.connect().await;
        client.send(&padded(key)).await;
        one(&server.begun).await;
        held.push(client);
        if held.len() == 4 {
            let refused = server.ask(&padded("acme")).await;
            assert_eq!((refused.status, refused.code().as_str()), (503, "bodies"));
        }
    }
    all_are_answered(server, held).await;
}

#[tokio::test]
async fn answers_that_nobody_takes_count_as_their_tenants() {
    let server = Server::start(|config| {
        (config.bounds.body_bytes, config.bounds.bodies_bytes) = (1 << 20, 32 << 20);
    })
    .await;
    let (mut held, mut path) = (Vec::new(), String::new());
    let refused = loop {
        let mut client = server.connect_narrow().await;
        client.send(&post("acme", "long")).await;
        let begin = client.read_until(|text| text.contains("\r\n\r\n")).await;
        if !begin.starts_with("HTTP/1.1 200 ") {
            break begin;
        }
        path = begin.split("carboy-run: ").nth(1).unwrap()[..32].to_owned();
        held.push(client);
    };
    // The second of 12 MiB made it more than the 22 MiB that the others leave.
    assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("\"bodies\""), "{refused}");
    assert_eq!(held.len(), 2);
    let path = format!("/v1/runs/{path}");
    assert_eq!(server.ask(&get("acme", &path)).await.code(), "bodies");
    // Another tenant does not notice, and it is over when somebody took the answers or went away.
    assert_eq!(server.run("other", "ok").await.status, 200);
    drop(held);
    until(async || (server.run("acme", "ok").await.status == 200).then_some(())).await;
    let mut client = server.connect().await;
    client.send(&request("acme", "GET", &path, "Connection: close\r\n", "")).await;
    let mut answer = Vec::new();
    within(client.0.read_to_end(&mut answer)).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 ") && answer.len() > LONG_TEXT);
    server.end().await;
}

#[tokio::test]
async fn a_caller_that_goes_away_pays_for_what_its_run_used() {
    let server = Server::start(|config| {
        config.tenants.get_mut("acme").unwrap().cpu_seconds_per_minute = Some(1.0);
    })
    .await;
    let mut client = server.connect().await;
    client.send(&post("acme", "hold")).await;
    one(&server.begun).await;
    drop(client);
    let refused = until(async || {
        let answer = server.run("acme", "ok").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "quota"));
    server.end().await;
}

#[tokio::test]
async fn half_a_request_without_a_key_does_not_delay_the_end() {
    let server = Server::start(|config| {
        (config.bounds.header_ms, config.bounds.drain_ms) = (3_600_000, 3_600_000);
    })
    .await;
    let mut client = server.connect().await;
    client.send("POST /v1/runs HTTP/1.1\r\nHost: local").await;
    // It has been read when a later one is answered.
    assert_eq!(server.run("acme", "ok").await.status, 200);
    server.end().await;
    assert_eq!(client.is_closed().await, "");
}

#[tokio::test]
async fn a_body_of_many_small_parts_is_refused_before_it_is_parsed() {
    let server = Server::start(|_| {}).await;
    let json = "Content-Type: application/json\r\n";
    let run = |inputs: String| {
        let body = format!(r#"{{"code": "ok", "inputs": {{{inputs}}}}}"#);
        request("acme", "POST", "/v1/runs", json, &body)
    };
    let many: Vec<_> = (0..200_000).map(|number| format!("\"{number:x}\":1")).collect();
    let refused = server.ask(&run(many.join(","))).await;
    assert_eq!((refused.status, refused.code().as_str()), (413, "body_size"));
    // One list of as many values costs its bytes.
    let list = format!("\"list\":[{}1]", "1,".repeat(200_000));
    assert_eq!(server.ask(&run(list)).await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn a_problem_repeats_little_of_what_a_client_wrote() {
    let server = Server::start(|_| {}).await;
    let long = "é".repeat(2 << 20);
    let json = "Content-Type: application/json\r\n";
    for body in [
        format!(r#"{{"code": "", "{long}": 1}}"#),
        format!(r#"{{"code": "", "policy": {{"{long}": 1}}}}"#),
        format!(r#"{{"code": "", "policy": {{"walls": "{long}"}}}}"#),
        format!(r#"{{"code": "", "tools": [{{"name": "f", "{long}": 1}}]}}"#),
        format!(r#"{{"code": "", "files": {{"a": {{"{long}": 1}}}}}}"#),
    ] {
        let refused = server.ask(&request("acme", "POST", "/v1/runs", json, &body)).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "request"));
        assert!(refused.body.len() < 16 << 10, "{} bytes", refused.body.len());
    }
    server.end().await;
}
