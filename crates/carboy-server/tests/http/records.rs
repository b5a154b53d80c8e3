//! Records: each tenant is shown its own, page by page.

use std::io;

use carboy_server::http::{Records, RecordsFault, RecordsPage, RecordsQuery};
use serde_json::{Value, json};

use crate::server::*;

const ID: &str = "0123456789abcdef0123456789abcdef";

/// Ten records of each tenant that is asked for, and one of `acme` that has an id.
pub struct Numbered;

impl Records for Numbered {
    fn list(&self, query: &RecordsQuery) -> Result<RecordsPage, RecordsFault> {
        if query.kind.as_deref() == Some("wrong") {
            return Err(RecordsFault::Query("no such kind".into()));
        }
        if query.kind.as_deref() == Some("broken") {
            return Err(RecordsFault::Read(io::Error::other("/secret/path of the host")));
        }
        let before = query.before.unwrap_or(11);
        let first = (before - query.most as i64).max(1);
        let row = |number: i64| json!({ "of": query.tenant, "number": number });
        let rows = (first..before).rev().map(row).collect();
        Ok(RecordsPage { rows, before: (first > 1).then_some(first) })
    }

    fn find(&self, tenant: &str, id: &str) -> io::Result<Option<Value>> {
        Ok((tenant == "acme" && id == ID).then(|| json!({ "code": "hidden \u{202e}" })))
    }
}

#[tokio::test]
async fn a_list_goes_on_where_it_ended() {
    let server = Server::start(|_| {}).await;
    let (mut path, mut numbers) = ("/v1/records?most=4".to_owned(), vec![]);
    loop {
        let page = server.ask(&get("acme", &path)).await.json();
        for row in page["records"].as_array().unwrap() {
            assert_eq!(row["of"], "acme");
            numbers.push(row["number"].as_i64().unwrap());
        }
        let Some(next) = page["next"].as_str() else { break };
        assert_eq!(next.len(), 32);
        path = format!("/v1/records?most=4&next={next}");
    }
    assert_eq!(numbers, (1..=10).rev().collect::<Vec<_>>());
    for wrong in ["?tenant=other", "?most=all", "?next=4", "?text=x", "?kind=wrong"] {
        let answer = server.ask(&get("acme", &format!("/v1/records{wrong}"))).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "request"), "{wrong}");
    }
    let broken = server.ask(&get("acme", "/v1/records?kind=broken")).await;
    assert_eq!((broken.status, broken.code().as_str()), (500, "engine"));
    assert!(!broken.body.contains("secret"), "{broken:?}");
    assert!(server.behind.log.lock().unwrap()[0].contains("/secret/path"));
    assert_eq!(server.ask(&get("watcher", "/v1/records")).await.code(), "scope");
    server.end().await;
}

#[tokio::test]
async fn a_record_is_shown_to_its_own_tenant() {
    let server = Server::start(|_| {}).await;
    let path = format!("/v1/records/{ID}");
    let own = server.ask(&get("acme", &path)).await;
    assert_eq!((own.status, &own.json()["code"]), (200, &json!("hidden \u{202e}")));
    assert!(!own.body.contains('\u{202e}'), "{own:?}");
    let missing = server.ask(&get("other", "/v1/records/00000000000000000000000000000000")).await;
    let foreign = server.ask(&get("other", &path)).await;
    assert_eq!((foreign.status, &foreign.body), (404, &missing.body));
    for wrong in ["last", "0123456789abcdef", "%ff"] {
        assert_eq!(server.ask(&get("acme", &format!("/v1/records/{wrong}"))).await.status, 404);
    }
    server.end().await;
}
