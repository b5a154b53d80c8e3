//! Who comes in, what each gets, and what comes of a run.

use std::sync::atomic::Ordering;

use carboy_protocol::{Limits, Policy, Walls};
use carboy_server::http::Closing;
use serde_json::{Value, json};

use crate::server::*;

#[tokio::test]
async fn a_run_is_answered_with_its_outcome() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        client.send(&post("acme", "ok")).await;
        let answer = client.answer().await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let outcome = answer.json();
        assert_eq!(outcome["status"], "ok");
        assert_eq!(answer.header("carboy-run"), outcome["id"].as_str());
        assert_eq!(answer.header("content-type"), Some("application/json"));
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("x-request-id").map(str::len), Some(32));
    }
    client.send(&request("acme", "GET", "/v1/runs", "X-Request-Id: mine-1\r\n", "")).await;
    let answer = client.answer().await;
    assert_eq!(answer.header("x-request-id"), Some("mine-1"));
    assert_eq!(answer.json()["ended"].as_array().unwrap().len(), 2);
    drop(client);
    server.end().await;
}

#[tokio::test]
async fn what_cannot_be_let_in_is_refused_with_a_code() {
    let server = Server::start(|config| {
        config.hosts = vec!["carboy.example".into()];
        config.origins = vec!["https://good.example".into()];
        config.bounds.body_bytes = 4096;
    })
    .await;
    let json = "Content-Type: application/json\r\n";
    let body = r#"{"code": "ok"}"#;
    let run = |headers: &str, body: &str| request("acme", "POST", "/v1/runs", headers, body);
    let get_with = |headers: &str| {
        format!("GET /v1/runs HTTP/1.1\r\n{headers}Authorization: Bearer acme\r\n\r\n")
    };
    let deep = format!(r#"{{"code": {}1{}}}"#, "[".repeat(1000), "]".repeat(1000));
    let deep_policy =
        format!(r#"{{"code": "", "policy": {}1{}}}"#, "[".repeat(1900), "]".repeat(1900));
    let chunked = format!("{json}Transfer-Encoding: chunked\r\n");
    let chunks = format!("{:x}\r\n{}\r\n0\r\n\r\n", 5000, " ".repeat(5000));
    let rows = [
        (200, "", run(json, body)),
        (200, "", run(&format!("{json}Origin: https://good.example\r\n"), body)),
        (200, "", get_with("Host: CARBOY.example:8722\r\n")),
        (200, "", get_with("Host: 127.0.0.1:1\r\n")),
        (401, "key", "GET /v1/runs HTTP/1.1\r\nHost: localhost\r\n\r\n".into()),
        (401, "key", get("nobody", "/v1/runs")),
        (401, "key", get("", "/v1/runs")),
        (401, "key", get("nobody", "/nothing")),
        (403, "scope", get("acme", "/metrics")),
        (403, "scope", get("watcher", "/v1/runs")),
        (403, "scope", post("watcher", "ok")),
        (421, "host", get_with("Host: evil.example\r\n")),
        (421, "host", get_with("Host: localhost.evil.example\r\n")),
        (421, "host", get_with("Host: localhost\r\nHost: evil.example\r\n")),
        (421, "host", get_with("")),
        (403, "origin", run(&format!("{json}Origin: https://evil.example\r\n"), body)),
        (403, "origin", run(&format!("{json}Origin: null\r\n"), body)),
        (404, "not_found", get("acme", "/nothing")),
        (404, "not_found", get("acme", "/v1/runs/0123456789abcdef0123456789abcdef")),
        (404, "not_found", get("acme", "/v1/runs/..%2f..%2fetc")),
        (404, "not_found", get("acme", "/v1/runs/%ff")),
        (404, "not_found", get("acme", "/v1/runs/%ff%fe/x")),
        (405, "method", request("acme", "PUT", "/v1/runs", "", "")),
        (405, "method", request("acme", "PATCH", "/v1/runs/%ff", "", "")),
        (405, "method", request("acme", "POST", "/healthz", "", "")),
        (405, "method", request("acme", "OPTIONS", "/v1/check", "", "")),
        (405, "method", request("acme", "TRACE", "/metrics", "", "")),
        (415, "media_type", run("", body)),
        (415, "media_type", run("Content-Type: text/plain\r\n", body)),
        (400, "request", run(json, "")),
        (400, "request", run(json, "nonsense")),
        (400, "request", run(json, r#"{"code": 5}"#)),
        (400, "request", run(json, r#"{"code": "", "more": 1}"#)),
        (400, "request", run(json, &deep)),
        (400, "request", run(json, &deep_policy)),
        (400, "request", run(json, r#"{"code": "", "policy": {"limits": {"wall_ms": 0}}}"#)),
        (400, "request", run(json, r#"{"code": "", "files": {"a": {"path": "/etc/passwd"}}}"#)),
        (400, "request", run(json, r#"{"code": "", "mounts": {"/data": "/etc"}}"#)),
        (400, "request", run(json, r#"{"code": "", "tools": [{"name": "f"}]}"#)),
        (400, "request", request("acme", "POST", "/v1/runs?tenant=other", json, body)),
        (413, "body_size", run(json, &" ".repeat(5000))),
        (
            413,
            "body_size",
            format!("{}{chunks}", run(&chunked, "").replace("Content-Length: 0\r\n", "")),
        ),
    ];
    for (status, code, request) in rows {
        let answer = server.ask(&request).await;
        assert!(is_documented(&request, status), "{status} of {request}");
        let short: String = request.chars().take(300).collect();
        assert_eq!(answer.status, status, "{short}\n{answer:?}");
        if status != 200 {
            assert_eq!(answer.code(), code, "{short}");
        }
        if status == 401 {
            assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        }
    }
    assert_eq!(server.behind.policies.lock().unwrap().len(), 2, "something else was run");
    server.end().await;
}

fn document() -> Value {
    serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap()
}

/// Whether the document has this status for what the request asks. What is no path of the door is not in it.
fn is_documented(request: &str, status: u16) -> bool {
    let mut words = request.split([' ', '?']);
    let (method, path) = (words.next().unwrap().to_lowercase(), words.next().unwrap());
    let is_like = |template: &str| {
        let (mut parts, mut wanted) = (path.split('/'), template.split('/'));
        loop {
            match (parts.next(), wanted.next()) {
                (None, None) => return true,
                (Some(_), Some("{path}")) => return true,
                (Some(_), Some(part)) if part.starts_with('{') => {}
                (part, wanted) if part == wanted => {}
                _ => return false,
            }
        }
    };
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let template = paths.keys().find(|template| is_like(template));
    match &document["paths"][template.map_or("", String::as_str)][&method]["responses"] {
        Value::Null => [401, 404, 405].contains(&status),
        responses => !responses[status.to_string()].is_null(),
    }
}

#[tokio::test]
async fn the_document_has_what_the_door_has() {
    let server = Server::start(|_| {}).await;
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    for (path, methods) in paths {
        for method in ["get", "post", "put", "delete", "patch"] {
            let request =
                request("acme", &method.to_uppercase(), &path.replace(['{', '}'], ""), "", "");
            let answer = server.ask(&request).await;
            let is_there = answer.status != 405;
            assert_eq!(is_there, !methods[method].is_null(), "{method} {path}: {answer:?}");
            assert!(is_documented(&request, answer.status), "{method} {path}: {answer:?}");
        }
    }
    // Everything that it refers to is in it.
    let text = document.to_string();
    for part in text.split("\"$ref\":\"#").skip(1) {
        let pointer = part.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
    let answer = server.run("acme", "ok").await.json();
    let known = &document["components"]["schemas"]["Outcome"]["properties"];
    assert!(answer.as_object().unwrap().keys().all(|key| !known[key].is_null()));
    server.end().await;
}

#[tokio::test]
async fn everybody_may_ask_whether_it_works() {
    let server = Server::start(|_| {}).await;
    for path in ["/healthz", "/readyz"] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: 10.0.0.7:8722\r\n\r\n");
        assert_eq!(server.ask(&request).await.status, 200);
    }
    server.end().await;
}

#[tokio::test]
async fn a_door_whose_runner_reaches_nobody_is_not_ready_until_it_does() {
    let server = Server::start(|_| {}).await;
    server.behind.is_alone.store(true, Ordering::SeqCst);
    let ready = server.ask(&get("acme", "/readyz")).await;
    assert_eq!((ready.status, ready.code().as_str()), (503, "not_ready"));
    assert!(ready.json()["detail"].as_str().unwrap().contains("no node is heard of"), "{ready:?}");
    assert_eq!(server.ask(&get("acme", "/healthz")).await.status, 200);
    server.behind.is_alone.store(false, Ordering::SeqCst);
    assert_eq!(server.ask(&get("acme", "/readyz")).await.status, 200);
    server.end().await;
}

#[tokio::test]
async fn runs_are_looked_at_and_ended_by_their_own_tenant_only() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.send(&post("acme", "wait")).await;
    one(&server.begun).await;
    let list = server.ask(&get("acme", "/v1/runs")).await.json();
    let id = list["under_way"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/runs/{id}");
    assert_eq!(server.ask(&get("acme", &path)).await.json()["state"], "under_way");
    // A run of another tenant is one that is not there, to the letter.
    let missing = server.ask(&get("other", "/v1/runs/0123456789abcdef0123456789abcdef")).await;
    for method in ["GET", "DELETE"] {
        let foreign = server.ask(&request("other", method, &path, "", "")).await;
        assert_eq!((foreign.status, &foreign.body), (404, &missing.body));
    }
    assert_eq!(server.ask(&get("other", "/v1/runs")).await.json()["under_way"], json!([]));
    let ended = server.ask(&request("acme", "DELETE", &path, "", "")).await;
    assert_eq!(ended.status, 202, "{ended:?}");
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "cancelled"));
    let after = server.ask(&get("acme", &path)).await.json();
    assert_eq!(
        (&after["state"], &after["problem"]["code"]),
        (&json!("failed"), &json!("cancelled"))
    );
    // Twice is once.
    assert_eq!(server.ask(&request("acme", "DELETE", &path, "", "")).await.status, 200);
    let answer = server.run("acme", "ok").await;
    let path = format!("/v1/runs/{}", answer.header("carboy-run").unwrap());
    assert_eq!(server.ask(&get("acme", &path)).await.json()["outcome"], answer.json());
    server.end().await;
}

#[tokio::test]
async fn what_is_too_much_is_refused_with_a_time_to_come_again() {
    let server = Server::start(|config| {
        config.tenants.get_mut("acme").unwrap().runs_at_once = 1;
    })
    .await;
    let mut client = server.connect().await;
    client.send(&post("acme", "hold")).await;
    one(&server.begun).await;
    let refused = server.run("acme", "ok").await;
    assert_eq!((refused.status, refused.code().as_str()), (429, "quota"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    // Another tenant does not notice.
    assert_eq!(server.run("other", "ok").await.status, 200);
    server.release.add_permits(1);
    assert_eq!(client.answer().await.status, 200);
    let busy = server.run("acme", "busy").await;
    assert_eq!((busy.status, busy.code().as_str()), (503, "busy"));
    assert_eq!(busy.header("retry-after"), Some("2"));
    assert_eq!(busy.json()["retry_after_ms"], 1500);
    server.end().await;
}

#[tokio::test]
async fn our_own_failure_is_told_to_the_operator_and_not_to_the_caller() {
    let server = Server::start(|_| {}).await;
    for code in ["engine", "panic"] {
        let answer = server.run("acme", code).await;
        assert_eq!((answer.status, answer.code().as_str()), (500, "engine"));
        assert!(!answer.body.contains("/secret") && !answer.body.contains("script"), "{answer:?}");
        let log = server.behind.log.lock().unwrap().pop().unwrap();
        assert!(log.starts_with(answer.header("x-request-id").unwrap()), "{log}");
    }
    server.end().await;
}

#[tokio::test]
async fn a_body_is_an_object_and_what_is_missing_is_named() {
    let server = Server::start(|_| {}).await;
    let json = "Content-Type: application/json\r\n";
    for (path, body) in
        [("/v1/runs", r#"["1"]"#), ("/v1/sessions", "[]"), ("/v1/check", r#" ["1"]"#)]
    {
        let answer = server.ask(&request("acme", "POST", path, json, body)).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "request"), "{path}");
    }
    for (path, what) in [
        ("/v1/runs/1", "run"),
        ("/v1/runs/1/files", "run"),
        ("/v1/runs/1/files/a.csv", "file"),
        ("/v1/sessions/1", "session"),
        ("/v1/records/1", "record"),
    ] {
        let answer = server.ask(&get("acme", path)).await;
        assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}");
        assert!(answer.body.contains(&format!("there is no {what} ")), "{answer:?}");
    }
    server.end().await;
}

#[tokio::test]
async fn what_the_host_does_not_have_is_refused_as_a_request() {
    let server = Server::start(|_| {}).await;
    let answer = server.run("acme", "demand").await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "request"));
    assert!(answer.body.contains("`cgroup`") && !answer.body.contains("secret"), "{answer:?}");
    assert!(server.behind.log.lock().unwrap().is_empty());
    server.end().await;
}

#[tokio::test]
async fn a_policy_is_lowered_to_the_tenants_ceiling() {
    let limits = Limits { wall_ms: 5000, ..Limits::default() };
    let ceiling = Policy { walls: Walls::Nested, limits, ..Policy::default() };
    let given = ceiling.clone();
    let server = Server::start(|config| {
        config.tenants.get_mut("acme").unwrap().ceiling = given;
    })
    .await;
    let json = "Content-Type: application/json\r\n";
    for body in [
        r#"{"code": "ok"}"#,
        r#"{"code": "ok", "policy": {"walls": "full", "limits": {"wall_ms": 9000, "cpu_ms": 1000}}}"#,
    ] {
        assert_eq!(server.ask(&request("acme", "POST", "/v1/runs", json, body)).await.status, 200);
    }
    let policies = std::mem::take(&mut *server.behind.policies.lock().unwrap());
    assert_eq!(policies[0], ceiling);
    assert_eq!(policies[1].walls, Walls::Full);
    assert_eq!((policies[1].limits.wall_ms, policies[1].limits.cpu_ms), (5000, 1000));
    let told = server.ask(&get("acme", "/v1/policies")).await.json();
    assert_eq!(told["ceiling"]["limits"]["wall_ms"], 5000);
    assert_eq!(told["presets"]["max"]["limits"]["wall_ms"], 5000);
    server.end().await;
}

#[tokio::test]
async fn code_is_checked_without_running_it() {
    let server = Server::start(|_| {}).await;
    let json = "Content-Type: application/json\r\n";
    let body = r#"{"code": "import socket"}"#;
    let report = server.ask(&request("acme", "POST", "/v1/check", json, body)).await.json();
    assert_eq!((&report["clean"], &report["violations"][0]["line"]), (&json!(false), &json!(1)));
    assert!(server.behind.policies.lock().unwrap().is_empty());
    server.end().await;
}

#[tokio::test]
async fn what_is_counted_is_told_to_who_may_watch() {
    let server = Server::start(|_| {}).await;
    server.run("acme", "ok").await;
    server.run("acme", "busy").await;
    server.ask(&get("nobody", "/v1/runs")).await;
    server.ask(&get("acme", "/v1/runs/x")).await;
    let answer = server.ask(&get("watcher", "/metrics")).await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        "carboy_run_duration_seconds_count{tier=\"process\",status=\"ok\"} 1\n",
        "carboy_problems_total{code=\"busy\"} 1\n",
        "carboy_problems_total{code=\"key\"} 1\n",
        "carboy_problems_total{code=\"not_found\"} 1\n",
        "carboy_runs_running 5\n",
        "carboy_runs_waiting 6\n",
        "carboy_pool_standing 7\n",
        "carboy_memory_promised_bytes 8\n",
        "carboy_memory_budget_bytes 9\n",
        "carboy_ready 1\n",
        "carboy_tenant_runs{tenant=\"acme\"} 0\n",
        "carboy_tenant_runs_most{tenant=\"acme\"} 64\n",
        "carboy_tenant_sessions{tenant=\"acme\"} 0\n",
        "carboy_tenant_sessions_most{tenant=\"acme\"} 16\n",
        "# TYPE carboy_tenant_cpu_seconds_left gauge\n",
    ] {
        assert!(answer.body.contains(line), "{line} is not in {}", answer.body);
    }
    server.end().await;
}

#[tokio::test]
async fn a_door_that_closes_answers_what_it_accepted() {
    let server = Server::start(|_| {}).await;
    let (mut holding, mut idle) = (server.connect().await, server.connect().await);
    holding.send(&post("acme", "hold")).await;
    one(&server.begun).await;
    server.closing.send(Closing::Drain).unwrap();
    // Who has nothing under way is let go, and whoever comes is told that the server ends.
    assert_eq!(idle.is_closed().await, "");
    let late = server.run("acme", "ok").await;
    assert_eq!((late.status, late.code().as_str()), (503, "ending"));
    assert_eq!((late.header("retry-after"), late.header("connection")), (Some("1"), Some("close")));
    let ready = server.ask(&get("acme", "/readyz")).await;
    assert_eq!((ready.status, ready.code().as_str()), (503, "not_ready"));
    assert_eq!(server.ask(&get("acme", "/healthz")).await.status, 200);
    let silent = server.connect().await;
    assert!(!server.task.is_finished());
    server.release.add_permits(1);
    assert_eq!(holding.answer().await.status, 200);
    let address = server.address.clone();
    within(server.task).await.unwrap();
    assert!(tokio::net::TcpStream::connect(&address).await.is_err());
    drop(silent);
}

#[tokio::test]
async fn a_door_that_closes_at_once_cancels_and_says_so() {
    let server = Server::start(|_| {}).await;
    let mut client = server.connect().await;
    client.send(&post("acme", "wait")).await;
    one(&server.begun).await;
    server.closing.send(Closing::Now).unwrap();
    // It had not begun, and may be sent again.
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "ending"));
    assert!(answer.header("retry-after").is_some());
    within(server.task).await.unwrap();
}

#[tokio::test]
async fn a_run_whose_body_is_still_coming_is_ended_too() {
    let server = Server::start(|_| {}).await;
    let whole = post("acme", "ok");
    let half = async || {
        let mut client = server.connect().await;
        client.send(&whole[..whole.len() - 1]).await;
        client
    };
    let mut client = half().await;
    let id = until(async || {
        let list = server.ask(&get("acme", "/v1/runs")).await.json();
        list["under_way"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    let path = format!("/v1/runs/{id}");
    assert_eq!(server.ask(&request("acme", "DELETE", &path, "", "")).await.status, 202);
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (409, "cancelled"));
    // And when everything ends.
    let mut client = half().await;
    until(async || {
        let list = server.ask(&get("acme", "/v1/runs")).await.json();
        list["under_way"][0]["id"].as_str().map(str::to_owned)
    })
    .await;
    server.closing.send(Closing::Now).unwrap();
    let answer = client.answer().await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "ending"));
    within(server.task).await.unwrap();
    assert!(server.behind.policies.lock().unwrap().is_empty(), "something was run");
}

#[tokio::test]
async fn a_browser_that_asks_hears_whether_a_page_may_send_requests() {
    let server = Server::start(|config| config.origins = vec!["https://good.example".into()]).await;
    let ask = |origin: &str| {
        format!(
            "OPTIONS /v1/runs HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,content-type\r\nConnection: close\r\n\r\n"
        )
    };
    let mut client = server.connect().await;
    client.send(&ask("https://good.example")).await;
    let yes = client.is_closed().await;
    assert!(yes.starts_with("HTTP/1.1 204 "), "{yes}");
    for line in [
        "access-control-allow-origin: https://good.example\r\n",
        "access-control-allow-methods: GET, POST,",
        "access-control-allow-headers: authorization, content-type,",
        "vary: origin\r\n",
    ] {
        assert!(yes.contains(line), "{yes}");
    }
    let no = server.ask(&ask("https://evil.example")).await;
    assert_eq!((no.status, no.code().as_str()), (403, "origin"));
    assert_eq!(no.header("access-control-allow-origin"), None);
    // The page may read what it gets, also if that is a problem.
    for (key, status) in [("acme", 200), ("nobody", 401)] {
        let headers = "Origin: https://good.example\r\n";
        let answer = server.ask(&request(key, "GET", "/v1/runs", headers, "")).await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.header("access-control-allow-origin"), Some("https://good.example"));
    }
    server.end().await;
}
