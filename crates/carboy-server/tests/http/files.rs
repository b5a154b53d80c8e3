//! Files that runs leave: whose they are, in which parts they come, and as what.

use serde_json::json;

use crate::server::*;

async fn left(server: &Server, query: &str) -> String {
    let path = format!("/v1/runs{query}");
    let headers = "Content-Type: application/json\r\n";
    let answer = server.ask(&request("acme", "POST", &path, headers, r#"{"code": "leave"}"#)).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.json()["artifacts"].as_array().unwrap().len(), LEFT.len());
    format!("/v1/runs/{}/files", answer.header("carboy-run").unwrap())
}

#[tokio::test]
async fn files_are_kept_for_their_own_tenant() {
    let server = Server::start(|_| {}).await;
    let files = left(&server, "?artifacts=keep").await;
    let list = server.ask(&get("acme", &files)).await.json();
    let names: Vec<_> =
        list["files"].as_array().unwrap().iter().map(|file| &file["path"]).collect();
    assert_eq!(names, LEFT.map(|(path, ..)| path));
    let own = server.ask(&get("acme", &format!("{files}/plot.png"))).await;
    assert_eq!((own.status, own.body.as_str()), (200, "0123456789"));
    // A file of another tenant is one that is not there, to the letter.
    for path in ["", "/plot.png"] {
        let nowhere = format!("/v1/runs/0123456789abcdef/files{path}");
        let missing = server.ask(&get("other", &nowhere)).await;
        let foreign = server.ask(&get("other", &format!("{files}{path}"))).await;
        assert_eq!((foreign.status, &foreign.body), (404, &missing.body));
    }
    for path in ["plot", "plot.png/", "../files/plot.png", "out", "", "%2e%2e/plot.png", "%ff"] {
        assert_eq!(
            server.ask(&get("acme", &format!("{files}/{path}"))).await.status,
            404,
            "{path}"
        );
    }
    // Who did not ask for it has none kept.
    let files = left(&server, "").await;
    assert_eq!(server.ask(&get("acme", &files)).await.json(), json!({ "files": [] }));
    assert_eq!(server.ask(&get("acme", &format!("{files}/plot.png"))).await.status, 404);
    server.end().await;
}

#[tokio::test]
async fn a_browser_only_ever_saves_them() {
    let server = Server::start(|_| {}).await;
    let files = left(&server, "?artifacts=keep").await;
    let rows = [
        ("out/%C3%A9%201.html", "application/octet-stream", "filename*=UTF-8''%C3%A9%201.html"),
        ("plot.png", "image/png", "filename=\"plot.png\""),
        ("empty", "application/octet-stream", "filename=\"empty\""),
    ];
    for ((path, kind, name), (_, content, _)) in rows.into_iter().zip(LEFT) {
        let answer = server.ask(&get("acme", &format!("{files}/{path}"))).await;
        assert_eq!((answer.status, answer.body.as_str()), (200, content), "{answer:?}");
        assert_eq!(answer.header("content-type"), Some(kind));
        let saved = answer.header("content-disposition").unwrap();
        assert!(saved.starts_with("attachment; ") && saved.ends_with(name), "{saved}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("content-security-policy").unwrap().ends_with("; sandbox"));
    }
    server.end().await;
}

#[tokio::test]
async fn a_part_is_given_as_the_standard_says() {
    let server = Server::start(|_| {}).await;
    let path = format!("{}/plot.png", left(&server, "?artifacts=keep").await);
    let part = async |headers: &str| server.ask(&request("acme", "GET", &path, headers, "")).await;
    let whole = part("").await;
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let tag = whole.header("etag").unwrap();
    for (range, status, content, told) in [
        ("bytes=0-2", 206, "012", Some("bytes 0-2/10")),
        ("bytes=8-100", 206, "89", Some("bytes 8-9/10")),
        ("bytes=-3", 206, "789", Some("bytes 7-9/10")),
        ("bytes=4-", 206, "456789", Some("bytes 4-9/10")),
        ("bytes=0-1,3-4", 200, "0123456789", None),
        ("pages=1-2", 200, "0123456789", None),
    ] {
        let answer = part(&format!("Range: {range}\r\n")).await;
        assert_eq!((answer.status, answer.body.as_str()), (status, content), "{range}");
        assert_eq!(answer.header("content-range"), told, "{range}");
    }
    let none = part("Range: bytes=10-\r\n").await;
    assert_eq!((none.status, none.code().as_str()), (416, "range"));
    assert_eq!(none.header("content-range"), Some("bytes */10"));
    let same = part(&format!("Range: bytes=1-1\r\nIf-Range: {tag}\r\n")).await;
    assert_eq!((same.status, same.body.as_str()), (206, "1"));
    let other = part("Range: bytes=1-1\r\nIf-Range: \"other\"\r\n").await;
    assert_eq!((other.status, other.body.as_str()), (200, "0123456789"));
    server.end().await;
}
