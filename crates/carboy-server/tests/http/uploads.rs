//! Uploaded files: whose they are, how runs name them, and what a client can take with them.

use std::sync::Arc;

use carboy_protocol::{FileSource, Policy};
use carboy_server::http::{UploadFolder, key_digest};
use serde_json::{Value, json};

use crate::server::*;

const TEXT: &str = "a,b\n1,2\n";

fn upload(key: &str, content: &str) -> String {
    request(key, "POST", "/v1/files", "Content-Type: text/html\r\n", content)
}

fn run(key: &str, path: &str, body: &Value) -> String {
    request(key, "POST", path, "Content-Type: application/json\r\n", &body.to_string())
}

fn naming(digest: &str) -> Value {
    json!({ "code": "ok", "files": { "a.csv": { "sha256": digest } } })
}

/// The files in a folder.
fn count(folder: &UploadFolder) -> usize {
    std::fs::read_dir(folder.path()).unwrap().count()
}

#[tokio::test]
async fn a_file_is_sent_once_and_named_by_its_digest() {
    let server = Server::start(|_| {}).await;
    let sent = server.ask(&upload("acme", TEXT)).await;
    assert_eq!(sent.status, 201, "{sent:?}");
    let digest = key_digest(TEXT);
    let told = sent.json();
    assert_eq!((&told["sha256"], &told["bytes"]), (&json!(digest), &json!(TEXT.len())));
    assert!(told["expires_in_ms"].as_u64().unwrap() > 60_000);
    let path = format!("/v1/files/{digest}");
    assert_eq!(sent.header("location"), Some(path.as_str()));
    // The same content is the same file.
    assert_eq!(server.ask(&upload("acme", TEXT)).await.status, 200);
    let list = server.ask(&get("acme", "/v1/files")).await.json();
    assert_eq!(list["files"].as_array().unwrap().len(), 1);
    assert_eq!(server.ask(&run("acme", "/v1/runs", &naming(&digest))).await.status, 200);
    let handed_in = server.behind.files.lock().unwrap()["a.csv"].clone();
    assert_eq!(handed_in, FileSource::Base64(TEXT.into()));
    // It is bytes, whatever its sender called it, and comes in parts.
    let part = server.ask(&request("acme", "GET", &path, "Range: bytes=4-6\r\n", "")).await;
    assert_eq!((part.status, part.body.as_str()), (206, "1,2"));
    assert_eq!(part.header("content-type"), Some("application/octet-stream"));
    assert!(part.header("content-disposition").unwrap().starts_with("attachment; "));
    // To another tenant it is one that is not there, to the letter.
    let missing = server.ask(&get("other", &format!("/v1/files/{}", "0".repeat(64)))).await;
    for method in ["GET", "DELETE"] {
        let foreign = server.ask(&request("other", method, &path, "", "")).await;
        assert_eq!((foreign.status, &foreign.body), (404, &missing.body));
    }
    for place in ["/v1/runs", "/v1/sessions"] {
        let mut body = naming(&digest);
        if place == "/v1/sessions" {
            body.as_object_mut().unwrap().remove("code");
        }
        let refused = server.ask(&run("other", place, &body)).await;
        assert_eq!((refused.status, refused.code().as_str()), (404, "no_upload"));
    }
    assert_eq!(server.ask(&request("acme", "DELETE", &path, "", "")).await.status, 204);
    assert_eq!(server.ask(&request("acme", "DELETE", &path, "", "")).await.status, 404);
    let gone = server.ask(&run("acme", "/v1/runs", &naming(&digest))).await;
    assert_eq!((gone.status, gone.code().as_str()), (404, "no_upload"));
    assert_eq!(server.ask(&upload("watcher", TEXT)).await.status, 403);
    server.end().await;
}

#[tokio::test]
async fn a_runner_on_this_host_gets_the_file_itself_until_its_run_is_over() {
    let folder = Arc::new(UploadFolder::make().unwrap());
    let shared = folder.clone();
    let server = Server::start(|config| {
        config.uploads = Some(shared);
        let ceiling = Policy { inputs_from: Some(vec![]), ..Policy::default() };
        config.tenants.get_mut("acme").unwrap().ceiling = ceiling;
    })
    .await;
    let digest = server.ask(&upload("acme", TEXT)).await.json()["sha256"].clone();
    let path = format!("/v1/files/{}", digest.as_str().unwrap());
    let mut client = server.connect().await;
    let mut body = naming(digest.as_str().unwrap());
    body["code"] = json!("hold");
    client.send(&run("acme", "/v1/runs", &body)).await;
    one(&server.begun).await;
    let FileSource::Path(file) = server.behind.files.lock().unwrap()["a.csv"].clone() else {
        panic!("not a path");
    };
    // It need not be named among those that callers may take files from: they can name none.
    assert_eq!(server.behind.policies.lock().unwrap().last().unwrap().inputs_from, None);
    assert!(std::path::Path::new(&file).starts_with(folder.path()));
    assert_eq!(server.ask(&request("acme", "DELETE", &path, "", "")).await.status, 204);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), TEXT);
    server.release.add_permits(1);
    assert_eq!(client.answer().await.status, 200);
    until(async || (count(&folder) == 0).then_some(())).await;
    drop(client);
    server.end().await;
}

#[tokio::test]
async fn a_client_takes_no_more_than_it_may() {
    let folder = Arc::new(UploadFolder::make().unwrap());
    let shared = folder.clone();
    let server = Server::start(|config| {
        config.uploads = Some(shared);
        config.tenants.get_mut("acme").unwrap().uploads_bytes = 100;
    })
    .await;
    // Before a byte of it came, and while it comes.
    let announced =
        request("acme", "POST", "/v1/files", "", "").replace("Length: 0", "Length: 70000");
    let refused = server.ask(&announced).await;
    assert_eq!((refused.status, refused.code().as_str()), (413, "body_size"));
    let chunked = request("acme", "POST", "/v1/files", "Transfer-Encoding: chunked\r\n", "")
        .replace("Content-Length: 0\r\n", "");
    let long = format!("{chunked}65\r\n{}\r\n0\r\n\r\n", "x".repeat(0x65));
    let refused = server.ask(&long).await;
    assert_eq!((refused.status, refused.code().as_str()), (413, "body_size"));
    // One that goes away.
    let mut gone = server.connect().await;
    gone.send(&format!("{chunked}2\r\nxx\r\n")).await;
    drop(gone);
    until(async || (count(&folder) == 0).then_some(())).await;
    // The one that was used longest ago makes room.
    for letter in ["a", "b", "c"] {
        assert_eq!(server.ask(&upload("acme", &letter.repeat(40))).await.status, 201);
    }
    assert_eq!(count(&folder), 2);
    let first = key_digest(&"a".repeat(40));
    assert_eq!(server.ask(&get("acme", &format!("/v1/files/{first}"))).await.status, 404);
    server.end().await;
}

#[tokio::test]
async fn a_client_that_trickles_is_cut_off() {
    let folder = Arc::new(UploadFolder::make().unwrap());
    let shared = folder.clone();
    let server = Server::start(|config| {
        config.uploads = Some(shared);
        config.bounds.body_ms = 100;
    })
    .await;
    let announced = request("acme", "POST", "/v1/files", "", "").replace("Length: 0", "Length: 9");
    let slow = server.ask(&format!("{announced}x")).await;
    assert_eq!((slow.status, slow.code().as_str()), (408, "body_time"));
    until(async || (count(&folder) == 0).then_some(())).await;
    server.end().await;
}
