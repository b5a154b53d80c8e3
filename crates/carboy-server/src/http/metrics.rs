//! What the door counts, in the text format of Prometheus.
//!
//! Every label has a closed set of values: words of the engine, names of system calls and rules of the guard,
//! tenants of the settings. Nothing that a guest or a client writes becomes one.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use carboy_engine::Load;
use carboy_protocol::{Denial, LimitName, Outcome, Status};

/// Upper bounds of the buckets for how long a run took, in seconds.
const BUCKETS: [f64; 16] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    120.0,
];

/// The most kinds of denial that are counted apart. There are fewer names than that.
const DENIALS: usize = 1024;

#[derive(Default)]
struct Histogram {
    buckets: [u64; BUCKETS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    fn add(&mut self, seconds: f64) {
        for (count, bound) in self.buckets.iter_mut().zip(BUCKETS) {
            *count += u64::from(seconds <= bound);
        }
        self.count += 1;
        self.sum += seconds;
    }
}

type Words = (&'static str, &'static str);

#[derive(Default)]
struct Counts {
    durations: BTreeMap<Words, Histogram>,
    timeouts: BTreeMap<&'static str, u64>,
    errors: BTreeMap<Words, u64>,
    denials: BTreeMap<(&'static str, String), u64>,
    /// Requests without an outcome of their own, by the code of the problem.
    problems: BTreeMap<&'static str, u64>,
    abandoned: u64,
}

/// Counts since the start.
#[derive(Default)]
pub(super) struct Metrics(Mutex<Counts>);

/// What is the case now.
pub(super) struct Gauges {
    pub load: Option<Load>,
    pub connections: usize,
    pub ready: bool,
    pub tenants: Vec<TenantGauges>,
    /// Spans that a collector took, and those that were dropped.
    pub spans: (u64, u64),
}

/// The same of one tenant.
pub(super) struct TenantGauges {
    pub name: String,
    pub runs: usize,
    pub runs_most: usize,
    pub sessions: usize,
    pub sessions_most: usize,
    /// Seconds of processor time that it may use now; below nothing if it used more. `None` without such a quota.
    pub cpu_left: Option<f64>,
}

impl Metrics {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts what came of a run.
    pub fn outcome(&self, outcome: &Outcome) {
        let mut counts = self.lock();
        let tier = match outcome.isolation.tier.as_str() {
            "process" => "process",
            "none" => "none",
            _ => "other",
        };
        let status = match outcome.status {
            Status::Ok => "ok",
            Status::Error => "error",
        };
        counts.durations.entry((tier, status)).or_default().add(outcome.usage.wall_ms / 1e3);
        if let Some(error) = &outcome.error {
            *counts.errors.entry((tier, error.kind.as_str())).or_default() += 1;
            let limit = error.limit.as_ref().map(|limit| limit.name);
            if matches!(limit, Some(LimitName::WallMs | LimitName::CpuMs)) {
                *counts.timeouts.entry(tier).or_default() += 1;
            }
        }
        for denial in outcome.refused() {
            counts.denial(denial);
        }
    }

    /// Counts a request that had no outcome.
    pub fn problem(&self, code: &'static str) {
        *self.lock().problems.entry(code).or_default() += 1;
    }

    /// Counts a run whose caller went away.
    pub fn abandoned(&self) {
        self.lock().abandoned += 1;
    }

    /// Everything, as text.
    pub fn text(&self, gauges: &Gauges) -> String {
        let counts = self.lock();
        let mut page = Page(String::with_capacity(4096));
        page.family("carboy_run_duration_seconds", "histogram", "How long the code of runs took.");
        for ((tier, status), histogram) in &counts.durations {
            page.histogram(&[("tier", tier), ("status", status)], histogram);
        }
        page.family("carboy_timeouts_total", "counter", "Runs that a limit of time ended.");
        for (tier, count) in &counts.timeouts {
            page.line("carboy_timeouts_total", &[("tier", tier)], *count as f64);
        }
        page.family("carboy_errors_total", "counter", "Runs that did not end well, by kind.");
        for ((tier, kind), count) in &counts.errors {
            page.line("carboy_errors_total", &[("tier", tier), ("kind", kind)], *count as f64);
        }
        page.family("carboy_denials_total", "counter", "What layers refused.");
        for ((layer, what), count) in &counts.denials {
            page.line("carboy_denials_total", &[("layer", layer), ("what", what)], *count as f64);
        }
        page.family("carboy_problems_total", "counter", "Requests without an outcome, by code.");
        for (code, count) in &counts.problems {
            page.line("carboy_problems_total", &[("code", code)], *count as f64);
        }
        page.family("carboy_abandoned_total", "counter", "Runs whose caller went away.");
        page.line("carboy_abandoned_total", &[], counts.abandoned as f64);
        drop(counts);
        page.gauges(gauges);
        page.0
    }
}

impl Counts {
    fn denial(&mut self, denial: &Denial) {
        let plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
        let mut key = (denial.layer.as_str(), denial.what.clone());
        let is_name = !key.1.is_empty() && key.1.len() <= 64 && key.1.bytes().all(plain);
        if !is_name || (self.denials.len() >= DENIALS && !self.denials.contains_key(&key)) {
            key.1 = "other".into();
        }
        *self.denials.entry(key).or_default() += denial.count;
    }
}

/// The page that is written.
struct Page(String);

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.0.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// One value. Labels are words that need no escaping.
    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        self.0.push_str(name);
        if !labels.is_empty() {
            let labels: Vec<_> =
                labels.iter().map(|(name, word)| format!("{name}=\"{word}\"")).collect();
            self.0.push_str(&format!("{{{}}}", labels.join(",")));
        }
        // Writing to a text does not fail.
        writeln!(self.0, " {value}").ok();
    }

    fn histogram(&mut self, labels: &[(&str, &str)], histogram: &Histogram) {
        let name = "carboy_run_duration_seconds";
        let bucket = format!("{name}_bucket");
        for (bound, count) in BUCKETS.iter().zip(histogram.buckets) {
            let bound = bound.to_string();
            self.line(&bucket, &[labels, &[("le", &bound)]].concat(), count as f64);
        }
        self.line(&bucket, &[labels, &[("le", "+Inf")]].concat(), histogram.count as f64);
        self.line(&format!("{name}_sum"), labels, histogram.sum);
        self.line(&format!("{name}_count"), labels, histogram.count as f64);
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.family(name, "gauge", help);
        self.line(name, &[], value);
    }

    fn gauges(&mut self, gauges: &Gauges) {
        self.gauge("carboy_ready", "Whether runs are taken.", f64::from(u8::from(gauges.ready)));
        for (name, help, count) in [
            ("carboy_spans_sent_total", "Spans that the collector took.", gauges.spans.0),
            ("carboy_spans_dropped_total", "Spans that it did not get.", gauges.spans.1),
        ] {
            self.family(name, "counter", help);
            self.line(name, &[], count as f64);
        }
        self.gauge("carboy_connections", "Open connections.", gauges.connections as f64);
        if let Some(load) = &gauges.load {
            self.gauge("carboy_runs_running", "Runs that have a place.", load.running as f64);
            self.gauge("carboy_runs_waiting", "Runs that wait for a place.", load.waiting as f64);
            self.gauge("carboy_pool_standing", "Jars that stand ready.", load.standing as f64);
            let help = "Memory that runs and sessions may come to use now.";
            self.gauge("carboy_memory_promised_bytes", help, load.memory_bytes as f64);
            let help = "Memory that all of them together may come to use.";
            self.gauge("carboy_memory_budget_bytes", help, load.memory_budget_bytes as f64);
        }
        type Of = fn(&TenantGauges) -> Option<f64>;
        let families: [(&str, &str, Of); 5] = [
            ("carboy_tenant_runs", "Runs of a tenant under way.", |of| Some(of.runs as f64)),
            ("carboy_tenant_runs_most", "Runs of a tenant that may be under way.", |of| {
                Some(of.runs_most as f64)
            }),
            ("carboy_tenant_sessions", "Sessions of a tenant that are open.", |of| {
                Some(of.sessions as f64)
            }),
            ("carboy_tenant_sessions_most", "Sessions of a tenant that may be open.", |of| {
                Some(of.sessions_most as f64)
            }),
            (
                "carboy_tenant_cpu_seconds_left",
                "Processor time that a tenant may use now, where it has a quota.",
                |of| of.cpu_left,
            ),
        ];
        for (name, help, value) in families {
            self.family(name, "gauge", help);
            for tenant in &gauges.tenants {
                if let Some(value) = value(tenant) {
                    self.line(name, &[("tenant", &tenant.name)], value);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use carboy_protocol::Layer;

    use super::*;

    #[test]
    fn labels_are_words_and_their_number_is_bounded() {
        let metrics = Metrics::default();
        let denial = |what: &str| Denial {
            layer: Layer::Seccomp,
            what: what.into(),
            count: 2,
            line: None,
            hint: String::new(),
            message: None,
            instead: None,
        };
        for number in 0..DENIALS + 50 {
            metrics.lock().denial(&denial(&format!("call_{number}")));
        }
        for odd in ["", "a\"} 1\nforged 1", "é", &"x".repeat(65)] {
            metrics.lock().denial(&denial(odd));
        }
        assert_eq!(metrics.lock().denials.len(), DENIALS + 1);
        let gauges =
            Gauges { load: None, connections: 3, ready: true, tenants: vec![], spans: (0, 0) };
        let text = metrics.text(&gauges);
        assert!(
            text.contains("carboy_denials_total{layer=\"seccomp\",what=\"other\"} 108\n"),
            "{text}"
        );
        assert!(text.contains("carboy_connections 3\n") && !text.contains("\nforged"));
    }

    #[test]
    fn a_histogram_counts_up_to_each_bound() {
        let mut histogram = Histogram::default();
        for seconds in [0.0004, 0.02, 0.025, 500.0] {
            histogram.add(seconds);
        }
        let mut page = Page(String::new());
        page.histogram(&[("tier", "process")], &histogram);
        for line in [
            "_bucket{tier=\"process\",le=\"0.0005\"} 1\n",
            "_bucket{tier=\"process\",le=\"0.025\"} 3\n",
            "_bucket{tier=\"process\",le=\"120\"} 3\n",
            "_bucket{tier=\"process\",le=\"+Inf\"} 4\n",
            "_count{tier=\"process\"} 4\n",
        ] {
            assert!(page.0.contains(line), "{line} is not in {}", page.0);
        }
    }
}
