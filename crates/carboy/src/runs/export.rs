//! One recorded run as a plain Python file.

use std::process::ExitCode;

use carboy_store::{Record, RunFacts, Store};

use super::arguments::Export;
use super::words::{end_of, given_words, run_of};
use crate::failure::{Failure, print_guest};
use crate::guest_text::visible;

pub fn export(arguments: &Export) -> Result<ExitCode, Failure> {
    let record = Store::open(arguments.place.directory()?)?.find(&arguments.id)?;
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
    head.push(
        "Behind walls: carboy run FILE. Nobody has reviewed this code: `python3 FILE` runs it"
            .into(),
    );
    head.push("with all that you may do.".into());
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
    fn a_comment_is_one_line() {
        assert_eq!(comment("a\nimport os\r\u{2028}b"), "# a import os\\u{d}\\u{2028}b\n");
    }
}
