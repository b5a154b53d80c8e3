//! What every view of a recorded run needs: its facts, and its end in a few words.

use carboy_protocol::Kind;
use carboy_store::{About, GivenFile, Record, RunFacts};

use crate::failure::Failure;

/// The facts of a run. Only runs have ids, so every record that was found by one has them.
pub fn run_of(record: &Record) -> Result<&RunFacts, Failure> {
    match &record.facts.about {
        About::Run(run) => Ok(run),
        About::Prune(_) => Err(Failure::usage(
            "this record is of a removal of others, not of a run",
            "`carboy runs` lists the runs",
        )),
    }
}

/// How a run ended, in a few words.
pub fn end_of(run: &RunFacts) -> String {
    let detail = match (&run.limit_name, &run.error_type) {
        (Some(limit), _) => format!(" {}", limit.as_str()),
        (None, Some(name)) => format!(" {name}"),
        (None, None) => String::new(),
    };
    format!("{}{detail}", run.kind.map_or(run.status.as_str(), Kind::as_str))
}

/// What is known of a file that a run was given.
pub fn given_words(file: &GivenFile) -> String {
    let mut words = file.name.clone();
    if let Some(bytes) = file.bytes {
        words.push_str(&format!(", {bytes} bytes"));
    }
    for (name, value) in [("sha256", &file.sha256), ("from", &file.path), ("of", &file.modified)] {
        if let Some(value) = value {
            words.push_str(&format!(", {name} {value}"));
        }
    }
    words
}
