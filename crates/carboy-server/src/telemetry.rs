//! What an operator sees of requests and runs: lines for a log, and spans for a collector of OpenTelemetry.
//!
//! Neither has anything that a guest or a client wrote: no code, no inputs, no output, no path of a request that is
//! not a route of ours. Whoever serves never waits for whoever reads: what does not fit is dropped, and counted.

mod exporter;
mod message;
mod trace;

use std::time::{Duration, SystemTime};

use carboy_protocol::{Outcome, Status};

pub use exporter::{Exporter, ExporterFault};
pub use trace::Trace;
pub(crate) use trace::random;

use message::{Attribute, Span, SpanKind};

/// Something to write into a log. Every text is a word of ours, or an id.
#[derive(Clone, Debug)]
pub enum Line<'a> {
    /// A request was answered.
    Request(&'a Request<'a>),
    /// A run was over.
    Run(&'a Run<'a>),
}

/// A request that was answered.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// Its id.
    pub id: &'a str,
    /// What it belongs to.
    pub trace: Trace,
    /// The method, if it is a usual one.
    pub method: &'a str,
    /// The route that it took, with the names of its parts in place of their values.
    pub route: &'a str,
    /// The status of the answer.
    pub status: u16,
    /// The code of the problem that it was answered with.
    pub problem: Option<&'a str>,
    /// Whose it was, if it had a key.
    pub tenant: Option<&'a str>,
    /// How long it took until the answer began.
    pub took: Duration,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Run<'a> {
    /// The id of the request that started it.
    pub request: &'a str,
    /// What that belongs to.
    pub trace: Trace,
    /// Whose it was.
    pub tenant: &'a str,
    /// What came of it.
    pub outcome: &'a Outcome,
}

/// Who writes lines. It must not block.
pub type Lines = Box<dyn Fn(&Line<'_>) + Send + Sync>;

/// Who is told of requests and runs.
#[derive(Default)]
pub struct Telemetry {
    /// Who writes lines.
    pub lines: Option<Lines>,
    /// Who sends spans.
    pub spans: Option<Exporter>,
}

impl Telemetry {
    pub(crate) fn request(&self, request: &Request<'_>) {
        if let Some(lines) = &self.lines {
            lines(&Line::Request(request));
        }
        let Some(spans) = self.spans.as_ref().filter(|_| request.trace.is_sampled()) else {
            return;
        };
        let end = SystemTime::now();
        let mut span =
            Span::of(&request.trace.own(), &format!("{} {}", request.method, request.route));
        span.kind = SpanKind::Server as i32;
        span.between(end - request.took, end);
        span.attributes.extend([
            Attribute::text("http.request.method", request.method),
            Attribute::text("http.route", request.route),
            Attribute::number("http.response.status_code", i64::from(request.status)),
        ]);
        span.attributes.extend(request.tenant.map(|name| Attribute::text("carboy.tenant", name)));
        span.attributes.extend(request.problem.map(|code| Attribute::text("carboy.problem", code)));
        // By the conventions for servers: what a client did wrong is no error of the span's.
        if request.status >= 500 {
            span.failed();
        }
        spans.send(span);
    }

    pub(crate) fn run(&self, run: &Run<'_>) {
        if let Some(lines) = &self.lines {
            lines(&Line::Run(run));
        }
        let Some(spans) = self.spans.as_ref().filter(|_| run.trace.is_sampled()) else { return };
        let outcome = run.outcome;
        let ms = |ms: f64| Duration::try_from_secs_f64(ms / 1e3).unwrap_or_default();
        let end = SystemTime::now();
        let begun = end - ms(outcome.usage.wall_ms);
        let mut waiting = Span::of(&run.trace.below(), "waiting");
        waiting.between(begun - ms(outcome.usage.queue_ms), begun);
        let mut span = Span::of(&run.trace.below(), "run");
        span.between(begun, end);
        let status = match outcome.status {
            Status::Ok => "ok",
            Status::Error => "error",
        };
        let tier = match outcome.isolation.tier.as_str() {
            "process" => "process",
            "none" => "none",
            _ => "other",
        };
        span.attributes.extend([
            Attribute::text("carboy.run", &outcome.id),
            Attribute::text("carboy.tenant", run.tenant),
            Attribute::text("carboy.tier", tier),
            Attribute::text("carboy.walls", outcome.isolation.walls.as_str()),
            Attribute::text("carboy.status", status),
        ]);
        if let Some(error) = &outcome.error {
            span.attributes.push(Attribute::text("carboy.error", error.kind.as_str()));
            if let Some(limit) = &error.limit {
                span.attributes.push(Attribute::text("carboy.limit", limit.name.row().field));
            }
            span.failed();
        }
        spans.send(waiting);
        spans.send(span);
    }

    /// How many spans were sent, and how many were dropped.
    pub(crate) fn spans(&self) -> (u64, u64) {
        self.spans.as_ref().map_or((0, 0), Exporter::counts)
    }

    /// Waits until what was to be sent is sent, but not for long.
    pub async fn flush(&self) {
        if let Some(spans) = &self.spans {
            spans.flush().await;
        }
    }
}
