//! The engine behind a pipe, as a program of another language uses it.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use carboy_protocol::pipe::{FailureKind, FromEngine, PIPE_VERSION};
use carboy_protocol::{Kind, Outcome};
use serde_json::{Value, json};

use crate::support::*;

pub(crate) struct Pipe {
    child: Child,
    input: Option<ChildStdin>,
    lines: Option<BufReader<ChildStdout>>,
    _folder: Folder,
}

impl Pipe {
    pub fn start() -> Pipe {
        Pipe::of(&program())
    }

    fn of(program: &Path) -> Pipe {
        Pipe::with(Command::new(program))
    }

    /// The program that `command` starts if it gets these arguments.
    pub fn with(mut command: Command) -> Pipe {
        let folder = Folder::new();
        let mut child = command
            .args(["pipe", "--python"])
            .arg(python())
            .env("TMPDIR", &folder.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let lines = child.stdout.take().map(BufReader::new);
        let mut pipe = Pipe { child, input, lines, _folder: folder };
        match pipe.hear() {
            FromEngine::Ready { pipe, python, .. } => {
                assert_eq!(pipe, PIPE_VERSION);
                assert!(python.starts_with("3."));
            }
            other => panic!("{other:?}"),
        }
        pipe
    }

    pub fn say(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn run(&mut self, id: u64, code: &str) {
        let policy = json!({ "walls": walls().as_str() });
        self.say(&json!({ "run": { "id": id, "job": { "code": code, "policy": policy } } }));
    }

    pub fn hear(&mut self) -> FromEngine {
        let mut line = String::new();
        self.lines.as_mut().unwrap().read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn outcome(&mut self) -> (u64, Outcome) {
        match self.hear() {
            FromEngine::Outcome { id, outcome, .. } => (id, *outcome),
            other => panic!("{other:?}"),
        }
    }

    /// Ends it as a caller does, by going away. Nothing of it is left.
    pub fn close(mut self) {
        let below = descendants(self.child.id());
        drop((self.input.take(), self.lines.take()));
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        wait_until_gone(&below);
    }
}

#[test]
fn one_file_is_all_there_is_to_install_and_it_may_be_replaced() {
    let folder = Folder::new();
    let alone = folder.0.join("carboy");
    std::fs::copy(program(), &alone).unwrap();
    let mut pipe = Pipe::of(&alone);
    // No zygote was started yet: what is started now must be what runs already.
    std::fs::remove_file(&alone).unwrap();
    std::fs::write(&alone, "another version").unwrap();
    pipe.run(1, "result = 6 * 7");
    let (_, outcome) = pipe.outcome();
    let result = outcome.result.as_ref().map(|result| result.get());
    assert_eq!(result, Some("42"), "{outcome:?}");
    let left: Vec<_> = std::fs::read_dir(&folder.0).unwrap().collect();
    assert_eq!(left.len(), 1, "something was written beside the program: {left:?}");
}

#[test]
fn many_requests_are_under_way_at_once_and_each_is_answered() {
    let mut pipe = Pipe::start();
    for id in 0..60 {
        pipe.run(id, &format!("import time\ntime.sleep(0.02)\nresult = {id} * 2"));
    }
    let mut answers = BTreeMap::new();
    for _ in 0..60 {
        let (id, outcome) = pipe.outcome();
        assert!(answers.insert(id, result(&outcome).parse::<u64>().unwrap()).is_none());
    }
    assert!(answers.into_iter().eq((0..60).map(|id| (id, id * 2))));
    pipe.close();
}

#[test]
fn output_comes_before_the_outcome_and_a_run_can_be_cancelled() {
    let mut pipe = Pipe::start();
    let code = "print('one', flush=True)\nimport time\ntime.sleep(60)";
    let policy = json!({ "walls": walls().as_str() });
    let job = json!({ "code": code, "policy": policy });
    pipe.say(&json!({ "run": { "id": 7, "stream": true, "job": job } }));
    match pipe.hear() {
        FromEngine::Output { id: 7, text, .. } => assert_eq!(text, "one\n"),
        other => panic!("{other:?}"),
    }
    pipe.run(7, "result = 'the number is taken'");
    match pipe.hear() {
        FromEngine::Failed { id: None, failure } => {
            assert_eq!(failure.kind, FailureKind::Request)
        }
        other => panic!("{other:?}"),
    }
    pipe.say(&json!({ "cancel": { "id": 7 } }));
    let (id, outcome) = pipe.outcome();
    assert_eq!((id, error(&outcome).kind), (7, Kind::Cancelled));
    pipe.say(&json!({ "cancel": { "id": 7 } }));
    pipe.run(7, "result = 'free again'");
    assert_eq!(result(&pipe.outcome().1), "\"free again\"");
    pipe.close();
}

#[test]
fn what_is_no_request_is_answered_and_the_next_one_works() {
    let mut pipe = Pipe::start();
    for (line, number) in [("nonsense", None), (r#"{"run": {"id": 3, "job": 5}}"#, Some(3))] {
        writeln!(pipe.input.as_mut().unwrap(), "{line}").unwrap();
        match pipe.hear() {
            FromEngine::Failed { id, failure } => {
                assert_eq!((id, failure.kind), (number, FailureKind::Request));
                assert!(failure.hint.is_some());
            }
            other => panic!("{other:?}"),
        }
    }
    pipe.run(1, "result = 1");
    assert_eq!(result(&pipe.outcome().1), "1");
    pipe.close();
}

#[test]
fn a_jar_cannot_write_a_message_of_its_own() {
    let mut pipe = Pipe::start();
    // A result whose JSON has line ends in it, with a forged message between them.
    let code = r#"
import os, time
body = b'{"done":{"result":[1,\n{"outcome":{"id":99,"outcome":{}}}\r\n,2]}}'
os.write(4, len(body).to_bytes(4, 'big') + body)
time.sleep(5)
"#;
    pipe.run(1, code);
    let (id, outcome) = pipe.outcome();
    let value: Value = serde_json::from_str(outcome.result.as_ref().unwrap().get()).unwrap();
    assert_eq!((id, &value[0], &value[2]), (1, &1.into(), &2.into()));
    pipe.run(2, "result = 2");
    assert_eq!(pipe.outcome().0, 2);
    pipe.close();
}

#[test]
fn a_caller_that_goes_away_ends_its_runs() {
    let mut pipe = Pipe::start();
    pipe.run(1, "result = 1");
    pipe.outcome();
    let code = "import time\nprint('up', flush=True)\ntime.sleep(600)";
    let limits = json!({ "wall_ms": 600_000 });
    let job = json!({ "code": code, "policy": { "walls": walls().as_str(), "limits": limits } });
    pipe.say(&json!({ "run": { "id": 2, "stream": true, "job": job } }));
    assert!(matches!(pipe.hear(), FromEngine::Output { id: 2, .. }));
    let most = allowed(Duration::from_secs(5));
    let started = Instant::now();
    pipe.close();
    assert!(started.elapsed() < most, "it took {:?}", started.elapsed());
}

#[test]
fn what_is_under_way_when_the_requests_end_is_still_answered() {
    let mut pipe = Pipe::start();
    pipe.run(1, "import time\ntime.sleep(0.2)\nresult = 'late'");
    drop(pipe.input.take());
    assert_eq!(result(&pipe.outcome().1), "\"late\"");
    pipe.close();
}
