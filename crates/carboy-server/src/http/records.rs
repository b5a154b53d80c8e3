//! Records of runs over HTTP: those of the caller's tenant, if the server keeps any.

use std::io;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{RawQuery, State};
use axum::response::Response;
use carboy_engine::{EngineError, Sessions};
use carboy_protocol::visible_json;
use serde_json::{Value, json};

use super::config::Scope;
use super::door::Door;
use super::entry::Caller;
use super::name::Named;
use super::problem::Problem;
use super::recorded::{RecordsFault, RecordsQuery, Shown};
use super::run::json_bytes;

/// How many of a list are given if nobody says how many, and at most.
const USUAL: usize = 50;
const MOST: usize = 200;

/// `GET /v1/records`: the caller's records, the newest first.
pub(super) async fn list<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let records = door.records.get()?;
    let mut wanted = asked(&door.records, query.as_deref().unwrap_or(""))?;
    wanted.tenant.clone_from(&caller.tenant.name);
    let page = door.records.read(move || records.list(&wanted)).await?;
    let page = page.map_err(|fault| match fault {
        RecordsFault::Query(why) => Problem::request(why),
        RecordsFault::Read(error) => unread(&door, &caller, error),
    })?;
    let next = page.before.and_then(|place| door.records.word(place));
    let text = shown(&json!({ "records": page.rows, "next": next }));
    caller.may_answer_with(&door, text.len())?;
    Ok(json_bytes(text))
}

/// `GET /v1/records/{id}`: all that is recorded of one run.
pub(super) async fn find<R: Sessions>(
    State(door): State<Arc<Door<R>>>,
    Extension(caller): Extension<Caller>,
    Named(id): Named<String>,
) -> Result<Response, Problem> {
    caller.needs(Scope::Read)?;
    let records = door.records.get()?;
    let tenant = caller.tenant.name.clone();
    let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_id {
        return Err(Problem::no("record"));
    }
    let written = door
        .records
        .read(move || Ok(records.find(&tenant, &id)?.map(|record| shown(&record))))
        .await?;
    let written: Option<String> = written.map_err(|error| unread(&door, &caller, error))?;
    let text = written.ok_or_else(|| Problem::no("record"))?;
    caller.may_answer_with(&door, text.len())?;
    Ok(json_bytes(text))
}

/// As JSON whose hidden characters are spelled out: some of it is a guest's.
fn shown(value: &Value) -> String {
    visible_json(&value.to_string()).into_owned()
}

fn unread<R: Sessions>(door: &Door<R>, caller: &Caller, error: io::Error) -> Problem {
    let error = EngineError::Os { step: "read records", error };
    door.problem(&caller.request, &error.into())
}

fn asked(shown: &Shown, query: &str) -> Result<RecordsQuery, Problem> {
    let unknown = || {
        Problem::request("the query has a part that is not known here").hint(
            "it may say status, kind, since, until, most (1 to 200) and next, as the list before had it",
        )
    };
    let mut asked = RecordsQuery { most: USUAL, ..RecordsQuery::default() };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').ok_or_else(unknown)?;
        // Words, digits and times need nothing else.
        let value = value.replace("%3A", ":").replace("%3a", ":");
        match name {
            "status" => asked.status = Some(value),
            "kind" => asked.kind = Some(value),
            "since" => asked.since = Some(value),
            "until" => asked.until = Some(value),
            "next" => asked.before = Some(shown.place(&value).ok_or_else(unknown)?),
            "most" => {
                let most = value.parse().ok().filter(|most| (1..=MOST).contains(most));
                asked.most = most.ok_or_else(unknown)?;
            }
            _ => return Err(unknown()),
        }
    }
    Ok(asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_says_only_what_is_known() {
        let shown = Shown::default();
        let found =
            asked(&shown, "status=error&since=2026-01-01T10%3A00&most=200").expect("usable");
        assert_eq!((found.status.as_deref(), found.most), (Some("error"), MOST));
        assert_eq!(found.since.as_deref(), Some("2026-01-01T10:00"));
        for wrong in ["tenant=other", "most=x", "most=0", "most=201", "next=7", "status", "text=x"]
        {
            assert!(asked(&shown, wrong).is_err(), "{wrong}");
        }
    }
}
