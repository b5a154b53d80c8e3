//! What a caller may ask for.

use std::collections::BTreeMap;

use carboy_protocol::json::{self, MAX_DEPTH};
use carboy_protocol::{DataFormat, DataFrame, Job, Tool};

use crate::error::RequestError;
use crate::runner::RunOptions;

/// Words that are no names.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Names that a tool would take from the code.
const TAKEN: &[&str] = &["context", "result", "tools"];

/// The longest name of an input or a tool, in bytes.
const MAX_NAME: usize = 100;

pub(crate) fn check(job: &Job, options: &RunOptions) -> Result<(), RequestError> {
    if job.code.len() > Job::MAX_CODE {
        let (bytes, allowed) = (job.code.len(), Job::MAX_CODE);
        return Err(RequestError::CodeTooLong { bytes, allowed });
    }
    let mut bytes = 0;
    for (name, value) in &job.inputs {
        let unusable = |why: String| RequestError::Input { name: shown(name), why };
        check_name(name).map_err(unusable)?;
        let text = value.get().as_bytes();
        bytes += text.len();
        if bytes > Job::MAX_INPUT {
            return Err(unusable(format!("with it there are more than {} bytes", Job::MAX_INPUT)));
        }
        json::check(text, MAX_DEPTH).map_err(|fault| unusable(fault.to_string()))?;
    }
    check_frames(job)?;
    check_tools(job, options)
}

fn check_frames(job: &Job) -> Result<(), RequestError> {
    for (name, frame) in &job.frames {
        let unusable = |why: String| RequestError::Frame { name: shown(name), why };
        check_name(name).map_err(unusable)?;
        if job.inputs.contains_key(name) {
            return Err(unusable("an input has that name".into()));
        }
        if !job.files.contains_key(&frame.file) {
            return Err(unusable(format!("there is no file `{}`", shown(&frame.file))));
        }
        let Some(format) = frame.format.or_else(|| DataFormat::of(&frame.file)) else {
            return Err(unusable(
                "its file has no name that ends in .csv, .jsonl, .ndjson, .parquet, .pq, .arrow, .feather or \
                 .ipc, and no format is named"
                    .into(),
            ));
        };
        if let Some(kind) = frame.kind.filter(|kind| !kind.is_made_of(format)) {
            let why = format!("a {} cannot be made of a file in this format", kind.name());
            return Err(unusable(why));
        }
    }
    Ok(())
}

/// The frames as a jar is told of them: each with the format of its file.
pub(crate) fn frames(job: &mut Job) -> BTreeMap<String, DataFrame> {
    let mut frames = std::mem::take(&mut job.frames);
    for frame in frames.values_mut() {
        frame.format = frame.format.or_else(|| DataFormat::of(&frame.file));
    }
    frames
}

fn check_tools(job: &Job, options: &RunOptions) -> Result<(), RequestError> {
    for (place, tool) in job.tools.iter().enumerate() {
        let name = tool.name.as_str();
        let fault = if let Err(why) = check_name(name) {
            why
        } else if name.starts_with('_') || TAKEN.contains(&name) {
            "that name is taken".into()
        } else if job.inputs.contains_key(name) {
            "an input has that name".into()
        } else if job.frames.contains_key(name) {
            "a frame has that name".into()
        } else if job.tools[..place].iter().any(|other| other.name == name) {
            "another tool has that name".into()
        } else if tool.doc.len() > Tool::MAX_DOC {
            format!("its doc has more than {} bytes", Tool::MAX_DOC)
        } else if tool.budget_ms > Tool::MAX_BUDGET_MS {
            format!("budget_ms must be at most {}", Tool::MAX_BUDGET_MS)
        } else if place >= Tool::MAX_TOOLS {
            format!("there are more than {}", Tool::MAX_TOOLS)
        } else if options.tools.is_none() {
            "nobody answers its calls".into()
        } else {
            continue;
        };
        return Err(RequestError::Tool { name: shown(name), why: fault });
    }
    Ok(())
}

/// Whether code can use a name.
fn check_name(name: &str) -> Result<(), String> {
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if !starts || !letters.all(|letter| letter.is_alphanumeric() || letter == '_') {
        return Err("that is no Python name".into());
    }
    if KEYWORDS.contains(&name) {
        return Err("that is a Python keyword".into());
    }
    if name.starts_with("__") {
        return Err("names with two underscores are the interpreter's own".into());
    }
    if name.len() > MAX_NAME {
        return Err(format!("a name has at most {MAX_NAME} bytes"));
    }
    Ok(())
}

/// A name as it is shown: not longer than a name may be.
fn shown(name: &str) -> String {
    name.chars().take(MAX_NAME).flat_map(char::escape_debug).collect()
}
