//! What is recorded of one run, for a person or a program.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use carboy_store::{Record, RunFacts, Store};
use serde_json::json;

use super::arguments::Show;
use super::words::{end_of, given_words, run_of};
use crate::failure::{Failure, print, print_guest, print_json};
use crate::guest_text::visible;
use crate::paint::Paint;

pub fn show(directory: &Path, arguments: &Show) -> Result<ExitCode, Failure> {
    let store = Store::open(directory)?;
    let record = store.find(&arguments.id)?;
    if let Some(file) = &arguments.html {
        let page = super::page::page(&store, &record, run_of(&record)?)?;
        if file == Path::new("-") {
            print_guest(&page)?;
        } else {
            // Only this user can read it, as the store: it holds code and what code printed.
            let mut options = std::fs::OpenOptions::new();
            options.write(true).create(true).truncate(true).mode(0o600);
            let opened = options.open(file);
            opened.and_then(|mut to| to.write_all(page.as_bytes())).map_err(|error| {
                Failure::usage(
                    format!("cannot write the page {}: {error}", file.display()),
                    "name a file in a directory that this user can write",
                )
            })?;
        }
    } else if arguments.json {
        print_json(&json!({
            "hash": record.hash,
            "facts": record.facts,
            "code": record.code,
            "job": record.job,
            "outcome": record.outcome,
            "inputs": record.inputs,
        }))?;
    } else {
        print(&page(&record, run_of(&record)?, Paint::stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(record: &Record, run: &RunFacts, paint: Paint) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        // One line, whatever a guest or a caller put into it.
        let value = visible(value).replace(['\n', '\t'], " ");
        text.push_str(&format!("{} {value}\n", paint.dim(&format!("{name:<12}"))));
    };
    line("run", &run.id);
    line("time", &record.facts.time);
    if !run.tenant.is_empty() {
        line("tenant", &run.tenant);
    }
    line("end", &end_of(run));
    line("walls", run.walls.as_str());
    if let Some(usage) = &run.usage {
        let peak = usage.peak_memory_bytes as f64 / f64::from(1 << 20);
        let (wall, cpu) = (usage.wall_ms, usage.cpu_ms);
        line("usage", &format!("{wall:.1} ms wall, {cpu:.1} ms cpu, {peak:.1} MiB"));
    }
    let versions = &run.versions;
    let python = format!("CPython {} at {}", versions.python, versions.program);
    line("interpreter", &python);
    line("carboy", &format!("{}, Linux {} {}", versions.carboy, versions.kernel, versions.machine));
    if !versions.packages.is_empty() {
        let list: Vec<_> =
            versions.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
        line("packages", &list.join(", "));
    }
    for input in &run.inputs {
        line("input", &format!("{} ({} bytes) sha256 {}", input.name, input.bytes, input.sha256));
    }
    for file in &run.files {
        line("given file", &given_words(file));
    }
    for (place, path) in record.job.iter().flat_map(|job| &job.mounts) {
        line("mount", &format!("{place} from {path}"));
    }
    line("code", &format!("sha256 {}", run.code_sha256));
    for (name, digest) in [("plan", &run.plan_sha256), ("result", &run.result_sha256)] {
        if let Some(digest) = digest {
            line(name, &format!("sha256 {digest}"));
        }
    }
    for artifact in &run.artifacts {
        let digest = artifact.sha256.as_ref().map(|hex| format!(" sha256 {hex}"));
        let kept = if run.artifacts_kept { ", kept" } else { "" };
        let (path, bytes, digest) = (&artifact.path, artifact.bytes, digest.unwrap_or_default());
        line("file", &format!("{path} ({bytes} bytes{kept}){digest}"));
    }
    line("record", &format!("{}:{}", record.facts.seq, record.hash));
    if let Some(failure) = &run.failure {
        line("failure", &failure.message);
    }
    let mut part = |name: &str, body: &str| {
        if !body.is_empty() {
            let body = visible(body);
            text.push_str(&format!("\n{}\n{}\n", paint.bold(name), body.trim_end_matches('\n')));
        }
    };
    part("code", record.code.as_deref().unwrap_or_default());
    if let Some(outcome) = &record.outcome {
        part("standard output", &outcome.stdout.text);
        part("standard error", &outcome.stderr.text);
        let result = outcome.result.as_ref().map(|result| result.get());
        part("result", result.or(outcome.result_text.as_deref()).unwrap_or_default());
        if let Some(error) = &outcome.error {
            part("error", &format!("{}: {}", error.type_name, error.message));
            part("hint", error.hint.as_deref().unwrap_or_default());
        }
        let denials = outcome.denials.iter();
        let list: String = denials
            .map(|denial| format!("{} ×{}: {}\n", denial.what, denial.count, denial.hint))
            .collect();
        part("denied", &list);
    }
    text
}
