//! Others that run Python, timed with the same job where they are installed.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::samples::{self, Samples};

/// Libraries of the interpreter: `begin` is done once, `run` is timed.
const LIBRARIES: [(&str, &str); 4] = [
    (
        "RestrictedPython",
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
pool = pydantic_monty.Monty().__enter__()
def run():
    with pool.checkout() as session:
        return session.feed_run('sum(range(100))')",
    ),
    (
        "sandtrap, kernel",
        "from sandtrap import Policy, sandbox
def run():
    with sandbox(Policy(), isolation='kernel') as box:
        return box.exec(code).namespace['result']",
    ),
    (
        "sandtrap, process",
        "from sandtrap import Policy, sandbox
def run():
    with sandbox(Policy(), isolation='process') as box:
        return box.exec(code).namespace['result']",
    ),
];
const TIMED: &str = "
if __name__ == '__main__':
    import json, sys, time
    code, runs = sys.argv[1], int(sys.argv[2])
    assert run() == 4950
    samples = []
    began = time.perf_counter()
    while len(samples) < runs and time.perf_counter() < began + 10:
        at = time.perf_counter()
        run()
        samples.append((time.perf_counter() - at) * 1e3)
    print(json.dumps(samples))
";
/// What programs are given to run: an interpreter of their own each time.
const JOB: [&str; 4] = ["-I", "-S", "-c", "print(sum(range(100)))"];

/// Times every peer that answers.
pub fn measure(python: &Path, runs: usize) -> Value {
    let mut all = Map::new();
    for (name, script) in LIBRARIES {
        all.insert(name.into(), library(python, script, runs));
    }
    let runs = runs.min(30);
    let mut bwrap = Command::new("bwrap");
    bwrap.args(["--unshare-all", "--ro-bind", "/", "/", "--"]).arg(python).args(JOB);
    all.insert("bwrap".into(), program(runs, || Some(bwrap.output().ok()?.status.success())));
    let bundle = std::env::temp_dir().join(format!("carboy-bench-{}", std::process::id()));
    all.insert("runc".into(), runc(python, &bundle, runs));
    // Absent if there is no runc, and then there is nothing to remove.
    std::fs::remove_dir_all(&bundle).ok();
    let mut plain = Command::new(python);
    plain.args(JOB);
    all.insert(
        "python -I -S".into(),
        program(runs, || Some(plain.output().ok()?.status.success())),
    );
    Value::Object(all)
}

/// A container for each run, from runc's own default with the host's tree in it, read-only.
fn runc(python: &Path, bundle: &Path, runs: usize) -> Value {
    let prepared = || -> Option<()> {
        std::fs::create_dir_all(bundle.join("rootfs")).ok()?;
        let made = Command::new("runc").args(["spec", "--bundle"]).arg(bundle).output().ok()?;
        made.status.success().then_some(())?;
        let file = bundle.join("config.json");
        let mut config: Value = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        config["root"] = json!({ "path": "rootfs", "readonly": true });
        config["process"]["terminal"] = json!(false);
        let program = [python.to_str()?].into_iter().chain(JOB);
        config["process"]["args"] = program.collect();
        // Not every host has the hierarchy that the default wants to show inside.
        let mounts = config["mounts"].as_array_mut()?;
        mounts.retain(|mount| mount["destination"] != "/sys/fs/cgroup");
        for entry in std::fs::read_dir("/").ok()?.flatten() {
            let path = entry.path();
            if path.is_dir() && !["/proc", "/sys", "/dev"].iter().any(|own| path == Path::new(own))
            {
                mounts.push(json!({
                    "destination": path, "type": "bind", "source": path, "options": ["rbind", "ro"],
                }));
            }
        }
        std::fs::write(&file, config.to_string()).ok()
    };
    if prepared().is_none() {
        return skipped();
    }
    let mut number = 0;
    program(runs, || {
        number += 1;
        let mut command = Command::new("runc");
        command.arg("--root").arg(bundle.join("state")).arg("run").arg("--bundle").arg(bundle);
        command.arg(format!("carboy-bench-{}-{number}", std::process::id()));
        Some(command.output().ok()?.status.success())
    })
}

fn library(python: &Path, script: &str, runs: usize) -> Value {
    // A file, because some of them start the interpreter again with it.
    let file = std::env::temp_dir().join(format!("carboy-bench-{}.py", std::process::id()));
    let text = format!("code = 'result = sum(range(100))'\n{script}\n{TIMED}");
    if std::fs::write(&file, text).is_err() {
        return skipped();
    }
    let output = Command::new(python).arg(&file).args([samples::JOB, &runs.to_string()]).output();
    std::fs::remove_file(&file).ok();
    let samples =
        output.ok().and_then(|output| serde_json::from_slice::<Vec<f64>>(&output.stdout).ok());
    match samples {
        Some(samples) if !samples.is_empty() => Samples::new(samples).summary(),
        _ => skipped(),
    }
}

fn program(runs: usize, mut run: impl FnMut() -> Option<bool>) -> Value {
    let mut samples = Vec::new();
    for _ in 0..runs {
        let started = Instant::now();
        if run() != Some(true) {
            return skipped();
        }
        samples.push(started.elapsed().as_secs_f64() * 1e3);
    }
    Samples::new(samples).summary()
}

fn skipped() -> Value {
    json!({ "skipped": "not installed for this interpreter and user, or it failed" })
}
