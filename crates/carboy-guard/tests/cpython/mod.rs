//! What CPython sees in a program, from an interpreter that stays.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use carboy_guard::{Fact, facts};
use carboy_protocol::PythonVersion;

/// A running interpreter.
pub struct Cpython {
    child: Child,
    answers: BufReader<ChildStdout>,
    version: PythonVersion,
}

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Both see the same.
    Same,
    /// The guard refuses what CPython takes.
    OnlyCpython,
    /// CPython refuses what the guard reads: it does not run.
    OnlyGuard,
    /// Neither takes it.
    Neither,
}

impl Cpython {
    pub fn start(python: &Path) -> Cpython {
        let mut child = Command::new(python)
            .args(["-I", "-c", include_str!("facts.py")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the interpreter starts");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        Cpython { child, answers, version: version(python) }
    }

    fn facts(&mut self, source: &str) -> Option<Vec<(String, String)>> {
        let input = self.child.stdin.as_mut().expect("a pipe");
        let length = u32::try_from(source.len()).expect("a short source");
        input.write_all(&length.to_be_bytes()).expect("the interpreter reads");
        input.write_all(source.as_bytes()).expect("the interpreter reads");
        input.flush().expect("the interpreter reads");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the interpreter answers");
        serde_json::from_str(&line).expect("an answer in JSON")
    }

    /// Compares what both see. A difference between what both take is the one thing that must not
    /// be, and is returned as text.
    pub fn compare(&mut self, source: &str) -> Result<Verdict, String> {
        let ours = facts(source, self.version);
        let theirs = self.facts(source);
        match (ours, theirs) {
            (None, None) => Ok(Verdict::Neither),
            (None, Some(_)) => Ok(Verdict::OnlyCpython),
            (Some(_), None) => Ok(Verdict::OnlyGuard),
            (Some(ours), Some(theirs)) => {
                let mut ours: Vec<_> = ours.into_iter().map(words).collect();
                ours.sort();
                if ours == theirs {
                    return Ok(Verdict::Same);
                }
                let only = |a: &[(String, String)], b: &[(String, String)]| {
                    a.iter().filter(|one| !b.contains(one)).cloned().collect::<Vec<_>>()
                };
                let (guard, cpython) = (only(&ours, &theirs), only(&theirs, &ours));
                Err(format!("only the guard sees {guard:?}, only CPython {cpython:?}"))
            }
        }
    }
}

/// The version of an interpreter.
fn version(python: &Path) -> PythonVersion {
    let code = "import sys; print('%d.%d' % sys.version_info[:2])";
    let said = Command::new(python).args(["-I", "-c", code]).output().expect("it starts");
    String::from_utf8_lossy(&said.stdout).trim().parse().expect("a version")
}

fn words((seen, text): Fact) -> (String, String) {
    (format!("{seen:?}"), text)
}

impl Drop for Cpython {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        self.child.wait().ok();
    }
}
