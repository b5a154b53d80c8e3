//! What `carboy serve` writes to standard error: failures of its own as text, or everything as lines of JSON.
//!
//! Code, inputs and output are in none of it. Lines are written on a thread that may wait for whoever reads there; who
//! does not read misses some.

use std::io::Write;
use std::sync::mpsc::{self, Sender, SyncSender};
use std::time::{Duration, SystemTime};

use carboy_protocol::Outcome;
use carboy_server::http::{Log, Told};
use carboy_server::telemetry::{Line, Lines, Request, Run};
use carboy_store::iso8601;
use clap::ValueEnum;
use serde_json::{Map, Value, json};

use crate::guest_text::one_line;

/// How many lines wait to be written.
const UNREAD: usize = 1024;

/// How long lines wait for others to be written with. To wake the thread for each of them costs whoever serves as much as
/// to refuse a request.
const GATHER: Duration = Duration::from_millis(10);

/// How long the end waits for lines that are not written yet.
const LAST: Duration = Duration::from_secs(1);

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    Text,
    Json,
}

/// Something for the thread that writes.
enum Item {
    Line(String),
    /// Everything before this is written.
    Written(Sender<()>),
}

/// The way to the thread that writes.
#[derive(Clone)]
pub struct Writer(SyncSender<Item>);

/// Who writes failures, and who writes what comes of requests, if that is wanted.
pub fn start(form: LogForm) -> (Log, Option<Lines>, Writer) {
    let writer = Writer::start();
    let (to, failures) = (writer.clone(), writer.clone());
    if form == LogForm::Text {
        return (Box::new(move |told| failures.line(text(told))), None, writer);
    }
    let log: Log = Box::new(move |told| failures.line(failure(told)));
    let lines: Lines = Box::new(move |line| {
        to.line(match line {
            Line::Request(request) => of_request(request),
            Line::Run(run) => of_run(run),
        });
    });
    (log, Some(lines), writer)
}

impl Writer {
    /// Starts the thread.
    pub fn start() -> Writer {
        let (sender, receiver) = mpsc::sync_channel(UNREAD);
        let thread = std::thread::Builder::new().name("log".into()).spawn(move || {
            while let Ok(first) = receiver.recv() {
                let mut lines = String::new();
                let mut waiting = Vec::new();
                for item in std::iter::once(first).chain(receiver.try_iter().take(UNREAD)) {
                    match item {
                        Item::Line(line) => lines += &line,
                        Item::Written(done) => waiting.push(done),
                    }
                }
                // If nobody reads, there is nobody to tell.
                std::io::stderr().write_all(lines.as_bytes()).ok();
                for done in waiting {
                    done.send(()).ok(); // Nobody may wait any more.
                }
                std::thread::sleep(GATHER);
            }
        });
        // Without a thread nothing is written, and everything else works.
        drop(thread);
        Writer(sender)
    }

    /// Tells the operator of something that is no failure.
    pub fn warn(&self, form: LogForm, message: &str) {
        self.line(match form {
            LogForm::Text => format!("warning: {}", one_line(message)),
            LogForm::Json => {
                written("warn", json!({ "event": "warning", "message": one_line(message) }))
            }
        });
    }

    /// Writes one line, unless too many wait.
    pub fn line(&self, line: String) {
        self.0.try_send(Item::Line(line + "\n")).ok();
    }

    /// Waits until everything is written, but not for long.
    pub fn flush(&self) {
        let (done, written) = mpsc::channel();
        if self.0.try_send(Item::Written(done)).is_ok() {
            written.recv_timeout(LAST).ok();
        }
    }
}

fn text(told: &Told<'_>) -> String {
    let failure = told.error.failure();
    let causes: String = failure.causes.iter().map(|cause| format!(": {cause}")).collect();
    one_line(&format!("request {}: {}{causes}", told.request, failure.message))
}

fn failure(told: &Told<'_>) -> String {
    let failure = told.error.failure();
    let causes: Vec<_> = failure.causes.iter().map(|cause| one_line(cause)).collect();
    written(
        "error",
        json!({
            "event": "failure", "request": told.request, "message": one_line(&failure.message), "causes": causes,
        }),
    )
}

fn of_request(request: &Request<'_>) -> String {
    let level = if request.status >= 500 { "warn" } else { "info" };
    written(
        level,
        json!({
            "event": "request", "request": request.id, "trace": request.trace.id(), "method": request.method,
            "route": request.route, "status": request.status, "problem": request.problem, "tenant": request.tenant,
            "ms": ms(request.took.as_secs_f64() * 1e3),
        }),
    )
}

fn of_run(run: &Run<'_>) -> String {
    let asked = json!({ "request": run.request, "trace": run.trace.id(), "tenant": run.tenant });
    of_outcome(run.outcome, asked)
}

/// The line of a run that has ended, with what is known of it beside its outcome.
pub fn of_outcome(outcome: &Outcome, known: Value) -> String {
    let error = outcome.error.as_ref();
    let mut line = json!({ "event": "run" });
    let ended = json!({
            "run": outcome.id,
            "status": outcome.status, "kind": error.map(|error| error.kind),
            "limit": error.and_then(|error| error.limit.as_ref()).map(|limit| limit.name),
            "tier": outcome.isolation.tier, "walls": outcome.isolation.walls,
            "queue_ms": ms(outcome.usage.queue_ms), "wall_ms": ms(outcome.usage.wall_ms),
            "cpu_ms": ms(outcome.usage.cpu_ms), "peak_memory_bytes": outcome.usage.peak_memory_bytes,
            "refused": outcome.refused().map(|denial| denial.count).sum::<u64>(),
    });
    for part in [known, ended] {
        if let (Value::Object(line), Value::Object(part)) = (&mut line, part) {
            line.extend(part);
        }
    }
    written("info", line)
}

/// Thousandths are enough.
fn ms(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// One line, without what is not known.
pub fn written(level: &str, facts: Value) -> String {
    let mut line = Map::new();
    line.insert("time".into(), iso8601(SystemTime::now()).into());
    line.insert("level".into(), level.into());
    if let Value::Object(facts) = facts {
        line.extend(facts.into_iter().filter(|(_, value)| !value.is_null()));
    }
    Value::Object(line).to_string()
}
