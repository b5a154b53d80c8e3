//! One recorded run as a plain Python file.

use std::path::Path;
use std::process::ExitCode;

use carboy_protocol::{DataFormat, DataFrame, Policy};
use carboy_store::{Record, RunFacts, Store};
use serde_json::Value;

use super::arguments::Export;
use super::words::{end_of, given_words, run_of};
use crate::failure::{Failure, print_guest};
use crate::guest_text::visible;

pub fn export(directory: &Path, arguments: &Export) -> Result<ExitCode, Failure> {
    let record = Store::open(directory)?.find(&arguments.id)?;
    let text = script(&record, run_of(&record)?)?;
    print_guest(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn script(record: &Record, run: &RunFacts) -> Result<String, Failure> {
    let mut head = Vec::new();
    let versions = &run.versions;
    head.push(format!("Run {} of {}, which ended so: {}.", run.id, record.facts.time, end_of(run)));
    head.push(format!("Recorded by carboy {} on CPython {}.", versions.carboy, versions.python));
    if !versions.packages.is_empty() {
        let names = versions.packages.iter().map(|(name, version)| format!("{name}=={version}"));
        head.push(format!("Packages: {}.", names.collect::<Vec<_>>().join(" ")));
    }
    for input in &run.inputs {
        let (name, bytes, sha256) = (&input.name, input.bytes, &input.sha256);
        head.push(format!("Input: {name}, {bytes} bytes of JSON, SHA-256 {sha256}."));
    }
    for file in &run.files {
        head.push(format!("File, in /inputs: {}.", given_words(file)));
    }
    for (place, path) in record.job.iter().flat_map(|job| &job.mounts) {
        head.push(format!("Mount: {place} from {path}, as it was then."));
    }
    for (name, frame) in record.job.iter().flat_map(|job| &job.frames) {
        let words = frame_words(frame).join(", ");
        let words = if words.is_empty() { words } else { format!(" ({words})") };
        head.push(format!(
            "Frame: the variable {name} was made of the file {}{words}.",
            frame.file
        ));
    }
    for tool in record.job.iter().flat_map(|job| &job.tools) {
        head.push(format!(
            "It could call {}, a function of its caller's, which is not here.",
            tool.name
        ));
    }
    if let Some(sha256) = &run.result_sha256 {
        head.push(format!("SHA-256 of its result: {sha256}."));
    }
    head.push(String::new());
    if let Some(policy) = record.job.as_ref().and_then(|job| differs(&job.policy)) {
        head.push(format!("POLICY.json, where the policy is not the default: {policy}"));
    }
    head.push(format!("Behind walls: {}", command(record, run)));
    head.push(
        "Nobody has reviewed this code: `python3 FILE` runs it with all that you may do.".into(),
    );
    let mut text: String = head.iter().map(|line| comment(line)).collect();
    text.push('\n');
    let code = record.code.as_deref().unwrap_or_default();
    let (before, after) = code.split_at(after_future(code));
    text.push_str(before);
    text.push_str(&inputs(record, run)?);
    text.push_str(after);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// What of a policy is not the default, as JSON.
fn differs(policy: &Policy) -> Option<String> {
    let values = |policy: &Policy| serde_json::to_value(policy).ok();
    let different = difference(&values(policy)?, &values(&Policy::default())?)?;
    serde_json::to_string(&different).ok()
}

/// The parts of a JSON value that another does not have.
fn difference(value: &Value, usual: &Value) -> Option<Value> {
    match (value, usual) {
        (Value::Object(fields), Value::Object(usual)) => {
            let other = |(name, value): (&String, &Value)| {
                let value = difference(value, usual.get(name).unwrap_or(&Value::Null))?;
                Some((name.clone(), value))
            };
            let fields: serde_json::Map<_, _> = fields.iter().filter_map(other).collect();
            (!fields.is_empty()).then_some(Value::Object(fields))
        }
        (value, usual) => (value != usual).then(|| value.clone()),
    }
}

/// How to run it again: what it was given by the same options.
fn command(record: &Record, run: &RunFacts) -> String {
    let mut words = vec!["carboy run".to_owned()];
    let mut option = |name: &str, value: &str| words.push(format!("--{name} {}", quoted(value)));
    if record.job.as_ref().is_some_and(|job| differs(&job.policy).is_some()) {
        option("policy", "POLICY.json");
    } else {
        option("walls", run.walls.as_str());
    }
    if !run.versions.preload.is_empty() {
        option("preload", &run.versions.preload.join(","));
    }
    if run.inputs.iter().any(|input| input.name == "context") && record.inputs.is_none() {
        option("input", "@JSON-FILE");
    }
    let frames: Vec<_> = record.job.iter().flat_map(|job| &job.frames).collect();
    for file in &run.files {
        let path = file.path.as_deref().unwrap_or("PATH");
        match frames.iter().find(|(_, frame)| frame.file == file.name) {
            None => option("file", &format!("{}={path}", file.name)),
            Some((name, frame)) => {
                // As the end of the path tells it, if it does.
                let format = frame.format.filter(|format| DataFormat::of(path) != Some(*format));
                let words = frame_words(&DataFrame { format, ..(*frame).clone() });
                let words: String = words.iter().map(|word| format!("{word}:")).collect();
                option("frame", &format!("{words}{name}={path}"));
            }
        }
    }
    for (place, path) in record.job.iter().flat_map(|job| &job.mounts) {
        option("mount", &format!("{place}={path}"));
    }
    words.push("FILE".into());
    words.join(" ")
}

/// What was said of a frame: its kind and its format.
fn frame_words(frame: &DataFrame) -> Vec<&'static str> {
    let kind = frame.kind.map(|kind| kind.name());
    kind.into_iter().chain(frame.format.map(|format| format.name())).collect()
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "/._-=@:,+".contains(char);
    if word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// One line, whatever is in it.
fn comment(line: &str) -> String {
    format!("# {}", visible(line).replace(['\n', '\t'], " ")).trim_end().to_owned() + "\n"
}

/// Assigns what the code saw under the names of its inputs.
fn inputs(record: &Record, run: &RunFacts) -> Result<String, Failure> {
    let mut text = String::from("# What carboy gave it:\n");
    let kept = record.inputs.iter().flatten();
    let mut lines = Vec::new();
    for (name, value) in kept {
        let literal = serde_json::to_string(value.get())
            .map_err(std::io::Error::other)
            .map_err(Failure::os("write an input"))?;
        lines.push(format!("{name} = __import__(\"json\").loads({literal})\n"));
    }
    if record.inputs.is_none() {
        for input in &run.inputs {
            let name = &input.name;
            lines
                .push(format!("{name} = None  # Its bytes were not recorded: assign them here.\n"));
        }
    }
    if !run.inputs.iter().any(|input| input.name == "context") {
        lines.push("context = None\n".into());
    }
    text.extend(lines);
    text.push_str("# The code, as it was:\n");
    Ok(text)
}

/// Where something can stand before the code: `from __future__` must come first.
fn after_future(code: &str) -> usize {
    let mut end = 0;
    let mut at = 0;
    let mut open = false;
    for line in code.split_inclusive('\n') {
        at += line.len();
        if line.starts_with("from __future__ import") {
            open = line.contains('(');
            end = at;
        }
        if open && line.contains(')') {
            open = false;
            end = at;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_come_after_what_must_be_first() {
        assert_eq!(after_future("x = 1\n"), 0);
        let one = "\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n";
        assert_eq!(after_future(&format!("{one}x = 1\n")), one.len());
        let long = "from __future__ import (\n    annotations,\n)\n";
        assert_eq!(after_future(&format!("{long}x = (1)\n")), long.len());
    }

    #[test]
    fn a_word_is_one_word_of_a_shell() {
        assert_eq!(quoted("/data=/srv/a-b_c.csv"), "/data=/srv/a-b_c.csv");
        assert_eq!(quoted("a b'; rm $x"), "'a b'\\''; rm $x'");
        assert_eq!(differs(&Policy::default()), None);
        let mut policy = Policy::default();
        policy.limits.wall_ms = 1234;
        assert_eq!(differs(&policy).as_deref(), Some(r#"{"limits":{"wall_ms":1234}}"#));
    }

    #[test]
    fn a_comment_is_one_line() {
        assert_eq!(comment("a\nimport os\r\u{2028}b"), "# a import os\\u{d}\\u{2028}b\n");
    }
}
