//! Durable jobs: who may submit what, who sees it, and how a webhook is told.

use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use carboy_server::http::{
    JobNotice, JobRow, JobSeen, JobState, Jobs, JobsFault, NewJob, Promise, Secret, WebhookConfig,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::server::*;

/// A queue that runs nothing by itself.
#[derive(Default)]
pub struct Scripted {
    jobs: Mutex<HashMap<(String, String), (NewJob, JobState)>>,
    notices: Mutex<VecDeque<JobNotice>>,
    /// What came of notices: when each is to come again.
    noticed: Mutex<Vec<Option<Duration>>>,
    changed: Notify,
}

impl Scripted {
    fn end(&self, tenant: &str, id: &str, state: JobState) {
        let key = (tenant.to_owned(), id.to_owned());
        self.jobs.lock().unwrap().get_mut(&key).unwrap().1 = state;
    }

    fn notice(&self, tenant: &str, id: &str, attempt: u32) {
        let (id, tenant, lease) = (id.to_owned(), tenant.to_owned(), Box::new(()));
        self.notices.lock().unwrap().push_back(JobNotice { id, tenant, attempt, lease });
        self.changed.notify_one();
    }

    fn seen(&self, tenant: &str, id: &str) -> Option<JobSeen> {
        let jobs = self.jobs.lock().unwrap();
        let (job, state) = jobs.get(&(tenant.to_owned(), id.to_owned()))?;
        let (webhook, state) = (job.webhook.clone(), state.clone());
        Some(JobSeen { id: id.into(), accepted_ms: 1, webhook, state })
    }
}

impl Jobs for Scripted {
    fn submit(&self, job: NewJob) -> Promise<'_, bool> {
        Box::pin(async move {
            match job.job.code.as_str() {
                "full" => return Err(JobsFault::Full),
                "long" => return Err(JobsFault::TooLong("it is too long".into(), "send less")),
                "gone" => return Err(JobsFault::Unavailable("no quorum".into(), "try again")),
                _ => {}
            }
            let mut jobs = self.jobs.lock().unwrap();
            let key = (job.tenant.clone(), job.id.clone());
            match jobs.get(&key) {
                Some((first, _)) if first.digest != job.digest => Err(JobsFault::Taken),
                Some(_) => Ok(false),
                None => {
                    jobs.insert(key, (job, JobState::Accepted));
                    Ok(true)
                }
            }
        })
    }

    fn look<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        _: Duration,
    ) -> Promise<'a, Option<JobSeen>> {
        Box::pin(async move { Ok(self.seen(tenant, id)) })
    }

    fn cancel<'a>(&'a self, tenant: &'a str, id: &'a str) -> Promise<'a, Option<(bool, JobSeen)>> {
        Box::pin(async move {
            let Some(seen) = self.seen(tenant, id) else { return Ok(None) };
            let is_first = matches!(seen.state, JobState::Accepted);
            if is_first {
                self.end(tenant, id, JobState::Cancelled(2));
            }
            Ok(self.seen(tenant, id).map(|seen| (is_first, seen)))
        })
    }

    fn list<'a>(&'a self, tenant: &'a str, most: usize) -> Promise<'a, Vec<JobRow>> {
        Box::pin(async move {
            let jobs = self.jobs.lock().unwrap();
            let own = jobs.iter().filter(|((owner, _), _)| owner == tenant).take(most);
            let row = |((_, id), (_, state)): (&(String, String), &(NewJob, JobState))| JobRow {
                id: id.clone(),
                accepted_ms: 1,
                has_ended: !matches!(state, JobState::Accepted),
            };
            Ok(own.map(row).collect())
        })
    }

    fn notices(&self, most: usize) -> Promise<'_, Vec<JobNotice>> {
        Box::pin(async move {
            loop {
                let changed = self.changed.notified();
                let taken: Vec<_> = {
                    let mut notices = self.notices.lock().unwrap();
                    let count = notices.len().min(most);
                    notices.drain(..count).collect()
                };
                if !taken.is_empty() {
                    return Ok(taken);
                }
                changed.await;
            }
        })
    }

    fn noticed(&self, _: Box<dyn Any + Send>, again: Option<Duration>) -> Promise<'_, ()> {
        self.noticed.lock().unwrap().push(again);
        Box::pin(async { Ok(()) })
    }
}

fn submission(key: &str, headers: &str, body: &Value) -> String {
    let headers = format!("Content-Type: application/json\r\n{headers}");
    request(key, "POST", "/v1/jobs", &headers, &body.to_string())
}

fn job(code: &str) -> Value {
    json!({ "job": { "code": code } })
}

#[tokio::test]
async fn a_job_is_taken_seen_and_ended_by_its_own_tenant() {
    let server = Server::start(|_| {}).await;
    let taken = server.ask(&submission("acme", "", &job("ok"))).await;
    assert_eq!((taken.status, &taken.json()["state"]), (202, &json!("accepted")));
    let id = taken.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/jobs/{id}");
    assert_eq!(taken.header("location"), Some(path.as_str()));
    assert_eq!(server.ask(&get("acme", &path)).await.json()["state"], "accepted");
    let missing = server.ask(&get("other", "/v1/jobs/0123456789abcdef0123456789abcdef")).await;
    for method in ["GET", "DELETE"] {
        let foreign = server.ask(&request("other", method, &path, "", "")).await;
        assert_eq!((foreign.status, &foreign.body), (404, &missing.body));
    }
    assert_eq!(server.ask(&get("other", "/v1/jobs")).await.json()["jobs"], json!([]));
    let rows = server.ask(&get("acme", "/v1/jobs?most=5")).await.json();
    assert_eq!(rows["jobs"], json!([{ "id": id, "accepted_ms": 1, "has_ended": false }]));
    let outcome = serde_json::value::to_raw_value(&outcome()).unwrap();
    server.jobs.end("acme", &id, JobState::Ended(2, outcome));
    let ended = server.ask(&get("acme", &format!("{path}?wait_ms=100"))).await.json();
    assert_eq!((&ended["state"], &ended["outcome"]["status"]), (&json!("ended"), &json!("ok")));
    // The ceiling is the tenant's, and what ended stays.
    assert_eq!(server.ask(&request("acme", "DELETE", &path, "", "")).await.status, 200);
    let taken = server.ask(&submission("acme", "", &job("ok"))).await.json();
    let path = format!("/v1/jobs/{}", taken["id"].as_str().unwrap());
    let ended = server.ask(&request("acme", "DELETE", &path, "", "")).await;
    assert_eq!((ended.status, &ended.json()["state"]), (202, &json!("cancelled")));
    server.end().await;
}

#[tokio::test]
async fn the_same_key_and_request_are_one_job() {
    let server = Server::start(|_| {}).await;
    let key = "Idempotency-Key: once\r\n";
    let first = server.ask(&submission("acme", key, &job("a"))).await;
    let again = server.ask(&submission("acme", key, &job("a"))).await;
    assert_eq!((first.status, again.status), (202, 202));
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(first.header("idempotency-replayed"), None);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    let other = server.ask(&submission("acme", key, &job("b"))).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency"));
    let another = server.ask(&submission("other", key, &job("a"))).await;
    assert_ne!(first.json()["id"], another.json()["id"]);
    server.end().await;
}

#[tokio::test]
async fn what_cannot_be_queued_is_refused_with_a_code() {
    let server = Server::start(|config| {
        config.tenants.get_mut("acme").unwrap().runs_at_once = 1;
    })
    .await;
    let with = |part: Value| json!({ "job": part });
    let rows = [
        (429, "quota", submission("acme", "", &job("full"))),
        (413, "body_size", submission("acme", "", &job("long"))),
        (503, "durable_unavailable", submission("acme", "", &job("gone"))),
        (400, "request", submission("acme", "", &json!({ "code": "no wrapper" }))),
        (400, "request", submission("acme", "", &with(json!({ "code": "", "more": 1 })))),
        (
            400,
            "request",
            submission(
                "acme",
                "",
                &json!({ "job": { "code": "" }, "webhook": "https://example.com/" }),
            ),
        ),
        (
            400,
            "request",
            submission("acme", "", &with(json!({ "code": "", "tools": [{ "name": "f" }] }))),
        ),
        (
            400,
            "request",
            submission(
                "acme",
                "",
                &with(json!({ "code": "", "files": { "a": { "path": "/etc/passwd" } } })),
            ),
        ),
        (
            400,
            "request",
            submission(
                "acme",
                "",
                &with(json!({ "code": "", "files": { "a": { "sha256": "0" } } })),
            ),
        ),
        (
            400,
            "request",
            request(
                "acme",
                "POST",
                "/v1/jobs?deadline_ms=5",
                "Content-Type: application/json\r\n",
                "{}",
            ),
        ),
        (400, "request", get("acme", "/v1/jobs?tenant=other")),
        (400, "request", get("acme", "/v1/jobs/0123456789abcdef0123456789abcdef?wait_ms=x")),
        (404, "not_found", get("acme", "/v1/jobs/x")),
        (403, "scope", submission("watcher", "", &job("ok"))),
        (403, "scope", get("watcher", "/v1/jobs")),
    ];
    for (status, code, request) in rows {
        let answer = server.ask(&request).await;
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{request}");
        let comes_again = answer.header("retry-after").is_some();
        assert_eq!(comes_again, [429, 503].contains(&status), "{request}");
    }
    // None of them kept a place among the runs.
    assert_eq!(server.run("acme", "ok").await.status, 200);
    server.end().await;
}

/// One request to a listener, whole, answered with this status.
async fn told(listener: &TcpListener, status: u16) -> String {
    let (mut stream, _) = within(listener.accept()).await.unwrap();
    let mut text = String::new();
    let mut part = [0; 4096];
    loop {
        let count = within(stream.read(&mut part)).await.unwrap();
        text += std::str::from_utf8(&part[..count]).unwrap();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() == length.unwrap().parse::<usize>().unwrap() {
                break;
            }
        }
        assert!(count > 0, "{text}");
    }
    let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    stream.write_all(answer.as_bytes()).await.unwrap();
    text
}

#[tokio::test]
async fn a_webhook_is_told_until_it_has_heard() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let server = Server::start(|config| {
        let secret = Secret::Value("0123456789abcdef".into());
        let hosts = vec![place.clone()];
        config.tenants.get_mut("acme").unwrap().webhooks = Some(WebhookConfig { secret, hosts });
    })
    .await;
    let submit = |address: &str| {
        submission("acme", "", &json!({ "job": { "code": "ok" }, "webhook": address }))
    };
    for wrong in ["http://127.0.0.1:1/", "https://10.0.0.1/", "http://example.com/", "no"] {
        assert_eq!(server.ask(&submit(wrong)).await.status, 400, "{wrong}");
    }
    let taken = server.ask(&submit(&format!("http://{place}/hook?a=b"))).await;
    assert_eq!(taken.status, 202, "{taken:?}");
    let id = taken.json()["id"].as_str().unwrap().to_owned();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let ended_ms = u64::try_from(now.as_millis()).unwrap();
    server.jobs.end("acme", &id, JobState::Cancelled(ended_ms));
    let results = |count: usize| {
        let jobs = &server.jobs;
        until(async move || {
            let noticed = jobs.noticed.lock().unwrap().clone();
            (noticed.len() >= count).then_some(noticed)
        })
    };
    server.jobs.notice("acme", &id, 1);
    told(&listener, 500).await;
    assert!(results(1).await[0].is_some(), "what failed is not tried again");
    server.jobs.notice("acme", &id, 3);
    let text = told(&listener, 204).await;
    let noticed = results(2).await;
    assert!(noticed[1].is_none(), "{noticed:?}");
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains(&format!("carboy-job: {id}")) && head.contains(&format!("host: {place}"))
    );
    assert!(head.contains("carboy-signature: t=") && head.contains(",v1="), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!((&body["id"], &body["state"]), (&json!(id), &json!("cancelled")));
    // What is not there is not told, and not asked for again.
    server.jobs.notice("acme", "0123456789abcdef0123456789abcdef", 1);
    assert!(results(3).await[2].is_none());
    server.end().await;
}
