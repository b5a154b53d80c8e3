//! Records as `carboy serve` shows them: to the tenant whose they are, without what is the operator's to know.

use std::io;
use std::path::PathBuf;
use std::time::SystemTime;

use carboy_server::http::{Records, RecordsFault, RecordsPage, RecordsQuery};
use carboy_store::{About, Query, Record, Store, since};
use serde_json::{Value, json};

/// How many records of all tenants one request looks at.
const WINDOW: i64 = 10_000;

/// How a run can have ended.
const STATUSES: [&str; 4] = ["ok", "error", "failed", "abandoned"];

/// The records in a directory.
pub struct Served {
    pub directory: PathBuf,
}

impl Records for Served {
    fn list(&self, query: &RecordsQuery) -> Result<RecordsPage, RecordsFault> {
        if let Some(status) = query.status.as_deref().filter(|status| !STATUSES.contains(status)) {
            let why = format!("{status:?} is no status: there are {}", STATUSES.join(", "));
            return Err(RecordsFault::Query(why));
        }
        let now = SystemTime::now();
        let time = |text: &Option<String>| {
            let wrong = |text: &String| {
                let why = format!(
                    "{text:?} is not a time: write an age such as 12h, or 2026-11-16T03:21"
                );
                RecordsFault::Query(why)
            };
            text.as_ref().map(|text| since(text, now).ok_or_else(|| wrong(text))).transpose()
        };
        let (since, until) = (time(&query.since)?, time(&query.until)?);
        let page = || {
            let store = Store::open(&self.directory)?;
            let end = store.head()?.seq.saturating_add(1);
            let before = query.before.unwrap_or(end).clamp(1, end);
            let first = before.saturating_sub(WINDOW).max(1);
            let rows = store.list(&Query {
                status: query.status.clone(),
                kind: query.kind.clone(),
                tenant: Some(query.tenant.clone()),
                since,
                until,
                text: None,
                most: Some(query.most as u64),
                among: Some(first..before),
            })?;
            let last = rows.last().filter(|_| rows.len() >= query.most).map(|row| row.seq);
            Ok((last.or((first > 1).then_some(first)), rows))
        };
        let (before, rows) = page().map_err(|error| RecordsFault::Read(unread(error)))?;
        Ok(RecordsPage {
            rows: rows.iter().map(|row| without(json!(row), &["seq", "tenant"])).collect(),
            before,
        })
    }

    fn find(&self, tenant: &str, id: &str) -> io::Result<Option<Value>> {
        let found = || Store::open(&self.directory)?.run(id);
        let record = found().map_err(unread)?;
        Ok(record.and_then(|record| told(tenant, record)))
    }
}

fn unread(error: carboy_store::StoreError) -> io::Error {
    io::Error::other(error)
}

fn without(mut value: Value, names: &[&str]) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|name, _| !names.contains(&name.as_str()));
    }
    value
}

/// What a tenant may know of a run, if it is its own: no place in the chain, no path of the host, and not why carboy
/// itself failed.
fn told(tenant: &str, record: Record) -> Option<Value> {
    let About::Run(run) = &record.facts.about else { return None };
    if run.tenant != tenant {
        return None;
    }
    let mut facts = without(json!(run), &["tenant", "failure"]);
    let fields = facts.as_object_mut()?;
    fields.insert("time".into(), json!(record.facts.time));
    if let Some(versions) = fields.get_mut("versions") {
        *versions = without(versions.take(), &["program"]);
    }
    for file in fields.get_mut("files").and_then(Value::as_array_mut).into_iter().flatten() {
        *file = without(file.take(), &["path", "modified"]);
    }
    let job = record.job.as_ref().map(|job| json!({ "policy": job.policy, "tools": job.tools }));
    Some(json!({
        "facts": facts,
        "code": record.code,
        "job": job,
        "outcome": record.outcome,
        "inputs": record.inputs,
    }))
}
