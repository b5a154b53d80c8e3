//! Others that run Python, timed with the same job where they are installed.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::Samples;

/// Libraries of the interpreter, each as a script that prints its timings in milliseconds.
const LIBRARIES: [(&str, &str); 3] = [
    (
        "restrictedpython",
        "from RestrictedPython import compile_restricted, safe_globals
def run():
    space = dict(safe_globals)
    space['sum'], space['range'] = sum, range
    exec(compile_restricted(code, 'job.py', 'exec'), space)
    return space['result']",
    ),
    (
        "pydantic_monty",
        "import pydantic_monty
def run():
    return pydantic_monty.Monty('sum(range(100))').run()",
    ),
    (
        "sandtrap",
        "from sandtrap import Policy, sandbox
def run():
    with sandbox(Policy(), isolation='kernel') as box:
        return box.exec(code)",
    ),
];
const TIMED: &str = "
import json, sys, time
code, runs = sys.argv[1], int(sys.argv[2])
run()
samples = []
for _ in range(runs):
    began = time.perf_counter()
    run()
    samples.append((time.perf_counter() - began) * 1e3)
print(json.dumps(samples))
";

/// Times every peer that answers.
pub fn measure(python: &Path, runs: usize) -> Value {
    let mut all = Map::new();
    for (name, script) in LIBRARIES {
        all.insert(name.into(), library(python, script, runs));
    }
    let job = ["-I", "-S", "-c", "print(sum(range(100)))"];
    let mut bwrap = Command::new("bwrap");
    bwrap.args(["--unshare-all", "--ro-bind", "/", "/", "--"]).arg(python).args(job);
    all.insert("bwrap".into(), program(bwrap, runs.min(30)));
    let mut plain = Command::new(python);
    plain.args(job);
    all.insert("python -I -S".into(), program(plain, runs.min(30)));
    Value::Object(all)
}

fn library(python: &Path, script: &str, runs: usize) -> Value {
    let script = format!("code = 'result = sum(range(100))'\n{script}\n{TIMED}");
    let output =
        Command::new(python).args(["-I", "-c", &script, super::JOB, &runs.to_string()]).output();
    let samples =
        output.ok().and_then(|output| serde_json::from_slice::<Vec<f64>>(&output.stdout).ok());
    match samples {
        Some(samples) => Samples::new(samples).summary(),
        None => json!({ "skipped": "not installed for this interpreter, or it failed" }),
    }
}

fn program(mut command: Command, runs: usize) -> Value {
    let mut samples = Vec::new();
    for _ in 0..runs {
        let started = Instant::now();
        match command.output() {
            Ok(output) if output.status.success() => {
                samples.push(started.elapsed().as_secs_f64() * 1e3);
            }
            _ => return json!({ "skipped": "not installed, or it failed" }),
        }
    }
    Samples::new(samples).summary()
}
