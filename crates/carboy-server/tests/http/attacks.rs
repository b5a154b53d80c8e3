//! Rows of the catalogue of attacks that clients of a server try. `escapes/elsewhere.txt` says which test shows which.

use carboy_protocol::Limits;
use serde_json::{Value, json};

use crate::server::*;

const JSON: &str = "Content-Type: application/json\r\n";

fn run(body: &str) -> String {
    request("acme", "POST", "/v1/runs", JSON, body)
}

#[tokio::test]
async fn a_limit_that_is_no_number_of_its_kind_is_refused_and_never_without_limit() {
    let server = Server::start(|_| {}).await;
    let wrong = [
        "0",
        "-1",
        "NaN",
        "Infinity",
        "-Infinity",
        "1e30",
        "1e999",
        "0.5",
        "18446744073709551616",
        "\"1Z\"",
        "\"\"",
        "null",
        "true",
        "[]",
        "{}",
    ];
    for limit in ["wall_ms", "cpu_ms", "memory_bytes", "output_bytes", "open_files", "file_bytes"] {
        for value in wrong {
            let body = format!(r#"{{"code": "", "policy": {{"limits": {{"{limit}": {value}}}}}}}"#);
            let answer = server.ask(&run(&body)).await;
            assert_eq!((answer.status, answer.code().as_str()), (400, "request"), "{body}");
        }
        // As much as can be written is lowered to the ceiling.
        let most = u64::MAX.to_string();
        for policy in [format!(r#"{{"limits": {{"{limit}": {most}}}}}"#), "{}".into()] {
            let body = format!(r#"{{"code": "ok", "policy": {policy}}}"#);
            let answer = server.ask(&run(&body)).await;
            assert!([200, 400].contains(&answer.status), "{body}: {answer:?}");
        }
    }
    for wall in ["null", "[]", "0", "\"huge\""] {
        let body = format!(r#"{{"code": "", "policy": {wall}}}"#);
        assert_eq!(server.ask(&run(&body)).await.status, 400, "{body}");
    }
    let ceiling = Limits::default();
    for policy in server.behind.policies.lock().unwrap().iter() {
        let limits = &policy.limits;
        assert!(limits.wall_ms <= ceiling.wall_ms && limits.memory_bytes <= ceiling.memory_bytes);
        assert!(limits.wall_ms > 0 && limits.output_bytes <= ceiling.output_bytes);
    }
    for deadline in ["-1", "NaN", "1e3", "", "18446744073709551616", "0x10", "1s"] {
        let path = format!("/v1/runs?deadline_ms={deadline}");
        let answer = server.ask(&request("acme", "POST", &path, JSON, r#"{"code": "ok"}"#)).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "request"), "{path}");
    }
    server.end().await;
}

/// Words that are no ids, as a path has them.
const NO_IDS: [&str; 12] = [
    "..%2f..%2fx.py",
    "%2fetc%2fpasswd",
    "%00",
    "a%00b",
    "-rf",
    "--help",
    "$(id)",
    "%60id%60",
    "a;b%7cc",
    "%ff%fe",
    "%e2%80%ae",
    "..",
];

#[tokio::test]
async fn words_that_are_no_ids_name_nothing_and_are_not_repeated() {
    let server = Server::start(|_| {}).await;
    for (method, before, after, body) in [
        ("GET", "/v1/runs/", "", ""),
        ("DELETE", "/v1/runs/", "", ""),
        ("GET", "/v1/runs/", "/files", ""),
        ("GET", "/v1/runs/", "/files/x", ""),
        ("POST", "/v1/runs/", "/answers", r#"{"call": 1}"#),
        ("GET", "/v1/sessions/", "", ""),
        ("POST", "/v1/sessions/", "/runs", r#"{"code": "ok"}"#),
        ("GET", "/v1/records/", "", ""),
        ("GET", "/v1/files/", "", ""),
        ("DELETE", "/v1/files/", "", ""),
        ("GET", "/v1/jobs/", "", ""),
    ] {
        for word in NO_IDS {
            let path = format!("{before}{word}{after}");
            let answer = server.ask(&request("acme", method, &path, JSON, body)).await;
            assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{path}");
            assert!(!answer.body.contains("x.py") && !answer.body.contains("id)"), "{answer:?}");
        }
    }
    assert!(server.behind.policies.lock().unwrap().is_empty(), "something was run");
    server.end().await;
}

#[tokio::test]
async fn what_is_another_tenants_cannot_be_told_from_what_is_not_there() {
    let server = Server::start(|_| {}).await;
    let leave = r#"{"code": "leave"}"#;
    let left = request("acme", "POST", "/v1/runs?artifacts=keep", JSON, leave);
    let left = server.ask(&left).await;
    let id = left.header("carboy-run").unwrap().to_owned();
    // 128 random bits, in one form only.
    assert!(id.len() == 32 && id.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{id}");
    let next = server.run("acme", "ok").await;
    assert_ne!(next.header("carboy-run"), Some(id.as_str()));
    let file = server.ask(&request("acme", "POST", "/v1/files", "", "a file")).await.json();
    let job = request("acme", "POST", "/v1/jobs", JSON, r#"{"job": {"code": "ok"}}"#);
    let job = server.ask(&job).await.json();
    let word = |value: &Value| value.as_str().unwrap_or("none").to_owned();
    let nothing = "0123456789abcdef0123456789abcdef";
    let no_file = nothing.repeat(2);
    for (method, before, own, missing, after, body) in [
        ("GET", "/v1/runs/", id.clone(), nothing, "", ""),
        ("DELETE", "/v1/runs/", id.clone(), nothing, "", ""),
        ("GET", "/v1/runs/", id.clone(), nothing, "/files", ""),
        ("GET", "/v1/runs/", id.clone(), nothing, "/files/plot.png", ""),
        ("POST", "/v1/runs/", id.clone(), nothing, "/answers", r#"{"call": 1}"#),
        ("GET", "/v1/files/", word(&file["sha256"]), &no_file, "", ""),
        ("DELETE", "/v1/files/", word(&file["sha256"]), &no_file, "", ""),
        ("GET", "/v1/jobs/", word(&job["id"]), nothing, "", ""),
        ("DELETE", "/v1/jobs/", word(&job["id"]), nothing, "", ""),
        ("GET", "/v1/sessions/", crate::shared::THERE.into(), "s1-none", "", ""),
    ] {
        let ask = async |key: &str, id: &str| {
            server.ask(&request(key, method, &format!("{before}{id}{after}"), JSON, body)).await
        };
        let (foreign, none) = (ask("other", &own).await, ask("other", missing).await);
        assert_eq!((foreign.status, &foreign.body), (404, &none.body), "{method} {before} {after}");
        let names = |answer: &Answer| -> Vec<String> {
            let lines = answer.head.lines().skip(1);
            lines.filter_map(|line| Some(line.split_once(':')?.0.to_owned())).collect()
        };
        assert_eq!(names(&foreign), names(&none));
        // Another case is another name, also for its own tenant.
        if own != own.to_uppercase() && !before.starts_with("/v1/sessions") {
            assert_eq!(ask("acme", &own.to_uppercase()).await.status, 404, "{before}");
        }
    }
    assert_eq!(server.ask(&get("other", "/v1/runs")).await.json()["ended"], json!([]));
    assert_eq!(server.ask(&get("other", "/v1/files")).await.json()["files"], json!([]));
    assert_eq!(server.ask(&get("other", "/v1/jobs")).await.json()["jobs"], json!([]));
    let still = server.ask(&get("acme", &format!("/v1/runs/{id}/files/plot.png"))).await;
    assert_eq!((still.status, still.body.as_str()), (200, "0123456789"));
    server.end().await;
}

#[tokio::test]
async fn a_page_in_a_browser_drives_no_local_server() {
    let server = Server::start(|_| {}).await;
    let body = r#"{"code": "ok"}"#;
    let send = |line: &str, headers: &str| {
        format!("{line} HTTP/1.1\r\n{headers}Content-Length: {}\r\n\r\n{body}", body.len())
    };
    let key = "Authorization: Bearer acme\r\n";
    let here = "Host: localhost\r\n";
    let rows = [
        // What a form can send, with whatever a browser adds by itself: no key is among it.
        (
            401,
            "key",
            send(
                "POST /v1/runs",
                &format!("{here}Cookie: key=acme\r\nContent-Type: text/plain\r\n"),
            ),
        ),
        (401, "key", send("POST /v1/runs?key=acme", &format!("{here}{JSON}"))),
        (
            401,
            "key",
            send("POST /v1/runs", &format!("{here}{JSON}Authorization: Basic YWNtZTo=\r\n")),
        ),
        (
            403,
            "origin",
            send("POST /v1/runs", &format!("{here}{JSON}Origin: http://evil.example\r\n")),
        ),
        (
            403,
            "origin",
            send("POST /v1/runs", &format!("{here}{key}{JSON}Origin: http://localhost:8722\r\n")),
        ),
        (403, "origin", send("POST /v1/runs", &format!("{here}{key}{JSON}Origin: null\r\n"))),
        // A name of the attacker's that was made to lead here.
        (421, "host", send("POST /v1/runs", &format!("Host: evil.example:8722\r\n{key}{JSON}"))),
        (421, "host", send("POST http://evil.example/v1/runs", &format!("{here}{key}{JSON}"))),
        (
            421,
            "host",
            send("POST /v1/runs", &format!("Host: localhost@evil.example\r\n{key}{JSON}")),
        ),
        (
            421,
            "host",
            send("POST /v1/runs", &format!("Host: 127.0.0.1.evil.example\r\n{key}{JSON}")),
        ),
        (
            415,
            "media_type",
            send("POST /v1/runs", &format!("{here}{key}Content-Type: multipart/form-data\r\n")),
        ),
    ];
    for (status, code, request) in rows {
        let answer = server.ask(&request).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{request}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{request}");
    }
    // There is no socket to take over: who wants one gets an answer like everybody else.
    let upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (path, headers, status) in [
        ("/v1/runs", format!("{here}{upgrade}Origin: http://evil.example\r\n"), 403),
        ("/v1/runs", format!("{here}{upgrade}"), 401),
        ("/v1/runs", format!("{here}{key}{upgrade}"), 200),
        ("/mcp", format!("{here}{key}{upgrade}"), 405),
    ] {
        let answer = server.ask(&format!("GET {path} HTTP/1.1\r\n{headers}\r\n")).await;
        assert_eq!((answer.status, answer.header("upgrade")), (status, None), "{path} {headers}");
    }
    // What everybody may ask says nothing, and no page may read it.
    let open = "GET /healthz HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n";
    let open = server.ask(open).await;
    assert_eq!((open.status, open.body.as_str()), (200, r#"{"status":"ok"}"#));
    assert_eq!(open.header("access-control-allow-origin"), None);
    assert!(server.behind.policies.lock().unwrap().is_empty(), "something was run");
    server.end().await;
}

#[tokio::test]
async fn two_lengths_of_one_request_smuggle_no_other() {
    let server = Server::start(|_| {}).await;
    let hidden =
        "DELETE /v1/runs/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer acme\r\n\r\n";
    let head = "POST /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer acme\r\n";
    for lengths in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 0\r\nContent-Length: 90\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: 4, 5\r\n",
    ] {
        let mut client = server.connect().await;
        client.send(&format!("{head}{JSON}{lengths}\r\n0\r\n\r\n{hidden}")).await;
        let said = client.is_closed().await;
        assert!(said.matches("HTTP/1.1 ").count() <= 1, "{lengths}: {said}");
        assert!(!said.contains("HTTP/1.1 200"), "{lengths}: {said}");
    }
    assert!(server.behind.policies.lock().unwrap().is_empty(), "something was run");
    server.end().await;
}

#[tokio::test]
async fn a_hundred_who_end_one_run_end_it_once() {
    let server = Server::start(|config| {
        config.tenants.get_mut("acme").unwrap().runs_at_once = 1;
    })
    .await;
    // One that has a jar and one that has none yet.
    for (code, status) in [("hold", 200), ("wait", 409)] {
        let mut client = server.connect().await;
        client.send(&post("acme", code)).await;
        one(&server.begun).await;
        let list = server.ask(&get("acme", "/v1/runs")).await.json();
        let path = format!("/v1/runs/{}", list["under_way"][0]["id"].as_str().unwrap());
        let delete = request("acme", "DELETE", &path, "", "");
        let mut asking = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let (address, delete) = (server.address.clone(), delete.clone());
            asking.spawn(async move {
                let mut client = Client(tokio::net::TcpStream::connect(address).await.unwrap());
                client.send(&delete).await;
                client.answer().await.status
            });
        }
        let statuses = within(asking.join_all()).await;
        assert!(statuses.iter().all(|status| [200, 202].contains(status)), "{statuses:?}");
        assert!(statuses.contains(&202));
        assert_eq!(client.answer().await.status, status);
        // Its end is one, whoever looks and whoever still wants to end it; and its place is free.
        let first = server.ask(&get("acme", &path)).await;
        assert_eq!(server.ask(&delete).await.body, first.body);
        assert_eq!(server.run("acme", "ok").await.status, 200);
        one(&server.begun).await;
    }
    server.end().await;
}
