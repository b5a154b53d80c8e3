//! What the guard costs: reading a file, beside CPython reading it, and programs under a profile
//! beside the same programs without one.

use std::time::Instant;

use carboy_protocol::{Job, LanguagePolicy, LanguageProfile, Policy, PythonVersion};
use serde_json::{Value, json};

use super::{Bench, Samples};
use crate::failure::Failure;

/// Parses and walks a file of the standard library with some 3,000 lines, as often as it is told.
const PARSE: &str = r#"
import ast, inspect, json, sys, time
path = inspect.__file__
source = open(path).read()
samples = []
for _ in range(int(sys.argv[1])):
    started = time.perf_counter()
    for node in ast.walk(ast.parse(source)):
        pass
    samples.append((time.perf_counter() - started) * 1e3)
print(json.dumps({"path": path, "lines": source.count("\n"), "samples": samples}))
"#;

/// Programs that time themselves, so that nothing else is in the time.
const PROGRAMS: [(&str, &str); 3] = [
    (
        "fib",
        "
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

import time
fib(16)
started = time.perf_counter()
fib(24)
result = (time.perf_counter() - started) * 1e3
",
    ),
    (
        "attributes",
        "
import math
import time

class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def length(self):
        return math.sqrt(self.x * self.x + self.y * self.y)

def work(points, rounds):
    total = 0.0
    for _ in range(rounds):
        for point in points:
            point.x += 0.5
            point.y -= 0.5
            total += point.length() + math.floor(point.x)
    return total

points = [Point(n, n + 1) for n in range(100)]
work(points, 10)
started = time.perf_counter()
work(points, 300)
result = (time.perf_counter() - started) * 1e3
",
    ),
    (
        "group_by",
        "
import time
import numpy as np
import pandas as pd

frame = pd.DataFrame({'key': np.arange(50_000) % 97, 'value': np.arange(50_000) * 0.5})
frame.groupby('key')['value'].agg(['sum', 'mean'])
started = time.perf_counter()
for _ in range(5):
    frame.groupby('key')['value'].agg(['sum', 'mean'])
result = (time.perf_counter() - started) * 1e3
",
    ),
];

impl Bench {
    /// Reading a file, and running under a profile.
    pub async fn guard(&mut self) -> Result<Value, Failure> {
        let rounds = self.size.paced / 20;
        let (cpython, said) = self.ask("time CPython's parser", PARSE, &rounds.to_string())?;
        let path = said["path"].as_str().unwrap_or_default();
        let source =
            std::fs::read_to_string(path).map_err(Failure::os("read the file to check"))?;
        let agent = LanguagePolicy::of(LanguageProfile::Agent);
        let mut samples = vec![];
        for _ in 0..rounds {
            let started = Instant::now();
            std::hint::black_box(carboy_guard::check(&source, &agent, PythonVersion::NEWEST));
            samples.push(started.elapsed().as_secs_f64() * 1e3);
        }
        let checked = Samples::new(samples);
        self.keep("guard.check", &checked);
        self.keep("guard.cpython", &cpython);
        let mut value = json!({
            "lines": said["lines"],
            "check": checked.summary(),
            "cpython_parse_and_walk": cpython.summary(),
            "cpython_over_check": cpython.quantile(0.5) / checked.quantile(0.5),
        });
        for (name, code) in PROGRAMS {
            if name == "group_by" && !self.has("pandas") {
                value[name] = json!({ "skipped": "pandas is not installed" });
                continue;
            }
            value[name] = self.guarded(name, code).await?;
        }
        Ok(value)
    }

    /// A program with and without the guard, in turn.
    async fn guarded(&mut self, name: &str, code: &str) -> Result<Value, Failure> {
        let preload: &[&str] = if name == "group_by" { &["pandas"] } else { &[] };
        let engine = self.engine(preload, 0)?;
        let (mut free, mut held) = (vec![], vec![]);
        for _ in 0..(self.size.paced / 20).max(20) {
            for (profile, samples) in
                [(LanguageProfile::Open, &mut free), (LanguageProfile::Agent, &mut held)]
            {
                let language = LanguagePolicy::of(profile);
                let policy = Policy { language, ..Policy::default() };
                let outcome = engine.run(Job::new(code).with_policy(policy)).await?;
                let took = outcome.result.as_ref().and_then(|text| text.get().parse().ok());
                samples.push(took.ok_or_else(|| {
                    let why = outcome.error.map_or("no number".into(), |error| error.message);
                    Failure::os("time a program")(std::io::Error::other(why))
                })?);
            }
        }
        engine.shutdown().await;
        let (free, held) = (Samples::new(free), Samples::new(held));
        self.keep(&format!("guard.{name}.open"), &free);
        self.keep(&format!("guard.{name}.agent"), &held);
        Ok(json!({
            "open": free.summary(),
            "agent": held.summary(),
            "agent_over_open": held.quantile(0.5) / free.quantile(0.5),
        }))
    }
}
