//! `carboy session`: JSON lines for programs, and the prompt on a terminal.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use carboy_protocol::pipe::{FailureKind, FromEngine};
use carboy_protocol::{Kind, Outcome, SessionAnswer, StateAfter, Walls};
use serde_json::{Value, json};

use crate::support::*;

/// A policy with little memory, in a file.
fn policy_file(folder: &Folder) -> String {
    let file = folder.0.join("policy.json");
    let policy = json!({ "limits": { "session_memory_bytes": 128 << 20, "wall_ms": 60_000 } });
    std::fs::write(&file, policy.to_string()).unwrap();
    file.to_str().unwrap().into()
}

struct Lines {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    said: u64,
}

impl Lines {
    fn start(folder: &Folder, more: &[&str]) -> Lines {
        let mut child = Command::new(program())
            .args(["session", "--policy", &policy_file(folder), "--python"])
            .arg(python())
            .args(more)
            .env("TMPDIR", &folder.0)
            .env_remove("CARBOY_STORE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = Lines { child, input, output, said: 0 };
        assert!(matches!(lines.hear(), FromEngine::Ready { .. }));
        lines
    }

    fn say(&mut self, line: &str) -> u64 {
        self.said += 1;
        writeln!(self.input.as_mut().unwrap(), "{line}").unwrap();
        self.said
    }

    fn hear(&mut self) -> FromEngine {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    fn outcome(&mut self, request: u64) -> (Outcome, StateAfter) {
        match self.hear() {
            FromEngine::Outcome { id, outcome, state: Some(state), .. } if id == request => {
                (*outcome, state)
            }
            other => panic!("{other:?}"),
        }
    }

    fn run(&mut self, code: &str) -> (Outcome, StateAfter) {
        let id = self.say(&json!({ "run": { "code": code } }).to_string());
        self.outcome(id)
    }

    fn value(&mut self, code: &str) -> String {
        let (outcome, state) = self.run(code);
        assert_eq!(state, StateAfter::Kept, "{outcome:?}");
        result(&outcome)
    }

    fn done(&mut self, ask: &Value) {
        let request = self.say(&ask.to_string());
        match self.hear() {
            FromEngine::Session { id, answer: SessionAnswer::Done {} } if id == request => {}
            other => panic!("{ask}: {other:?}"),
        }
    }

    fn refused(&mut self, line: &str) -> String {
        let request = self.say(line);
        match self.hear() {
            FromEngine::Failed { id, failure } if id == Some(request) => {
                assert_eq!(failure.kind, FailureKind::Request);
                failure.message
            }
            other => panic!("{line}: {other:?}"),
        }
    }

    fn close(mut self) {
        let below = descendants(self.child.id());
        drop(self.input.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        wait_until_gone(&below);
    }
}

#[test]
fn a_program_has_a_session_over_lines() {
    if walls() == Walls::Nested {
        return skip("in nested walls there are no sessions");
    }
    let folder = Folder::new();
    std::fs::write(folder.0.join("n.txt"), "7").unwrap();
    let (given, out) = (folder.0.join("n.txt"), folder.0.join("out"));
    let (given, out) = (given.to_str().unwrap(), out.to_str().unwrap());
    let mut lines = Lines::start(&folder, &["--file", given, "--out", out]);
    assert_eq!(lines.value("x = [int(open('n.txt').read())]\nx"), "[7]");
    lines.done(&json!({ "checkpoint": { "name": "one" } }));
    lines.done(&json!({ "branch": { "name": "b" } }));
    assert_eq!(lines.value("x.append(8)\nx"), "[7,8]");
    let (outcome, state) = lines.run("x.append(9)\nimport ctypes\nctypes.string_at(0)");
    assert_eq!((error(&outcome).kind, state), (Kind::Crash, StateAfter::Restored));
    assert_eq!(lines.value("x"), "[7,8]");
    lines.done(&json!({ "branch": { "name": "main" } }));
    assert_eq!(lines.value("x.append(1)\nx"), "[7,1]");
    lines.done(&json!({ "rollback": { "name": "one" } }));
    assert_eq!(lines.value("x"), "[7]");
    // The second replaces what the first left.
    lines.run("open('made.txt', 'w').write('a')");
    lines.run("open('made.txt', 'w').write('bc')");
    assert_eq!(std::fs::read(folder.0.join("out/made.txt")).unwrap(), b"bc");
    assert!(lines.refused("{\"run\": 1}").contains("no request"));
    assert!(lines.refused("{\"rollback\":{\"name\":\"two\"}}").contains("no checkpoint `two`"));
    assert!(lines.refused("{\"close\":{\"name\":\"main\"}}").contains("at the end"));
    lines.done(&json!({ "close": { "name": "b" } }));
    let request = lines.say("{\"variables\":{}}");
    match lines.hear() {
        FromEngine::Session { id, answer: SessionAnswer::Variables(told) } if id == request => {
            assert_eq!(told.variables[0].name, "x");
        }
        other => panic!("{other:?}"),
    }
    lines.close();
}

#[test]
fn a_line_interrupts_what_runs_and_what_would() {
    if walls() == Walls::Nested {
        return skip("in nested walls there are no sessions");
    }
    let folder = Folder::new();
    let mut lines = Lines::start(&folder, &[]);
    lines.run("x = 5");
    let endless = json!({ "run": { "code": "x = 0\nwhile True:\n    pass" } }).to_string();
    let first = lines.say(&endless);
    let second = lines.say(&endless);
    lines.say("{\"interrupt\":{}}");
    for request in [first, second] {
        match lines.hear() {
            FromEngine::Outcome { id, outcome, state, .. } => {
                assert_eq!((id, error(&outcome).kind), (request, Kind::Cancelled));
                assert_eq!(state, Some(StateAfter::Restored));
            }
            // It had not begun.
            FromEngine::Failed { id, failure } => {
                assert_eq!((id, failure.kind), (Some(request), FailureKind::Cancelled));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(lines.value("x"), "5");
    lines.close();
}

#[test]
fn a_person_has_a_prompt() {
    if walls() == Walls::Nested {
        return skip("in nested walls there are no sessions");
    }
    let folder = Folder::new();
    let history = folder.0.join("history");
    let program = program();
    let policy = policy_file(&folder);
    let command = [
        program.to_str().unwrap(),
        "session",
        "--policy",
        &policy,
        "--history",
        history.to_str().unwrap(),
        "--python",
        python().to_str().unwrap(),
    ]
    .map(str::to_owned);
    // What is shown never stands in what was typed, and a new prompt comes after it.
    let steps = json!([
        ["", ">>> "],
        ["x = 41; print('se' + 'en')\r", "seen", ">>> "],
        // Goes on while the code is incomplete, as far in as it belongs.
        ["for n in [x]:\rprint('n', 'is', n + 1)\r\r", "n is 42", ">>> "],
        // Interrupts the run, and keeps the state.
        ["x = 0; print('be' 'gun', flush=True); sum(0 for _ in iter(int, 1))\r", "begun"],
        ["\u{3}", "as it was before", ">>> "],
        ["x\r", "\n41\r\n", ">>> "],
        // Interrupts what is typed.
        ["x = 7\u{3}", ">>> "],
        ["x + 1\r", "\n42\r\n", ">>> "],
        ["x = 0; import ctypes; ctypes.string_at(0)\r", "as it was before", ">>> "],
        ["%checkpoint first\r", "kept as", ">>> "],
        ["%checkpoints\r", "\nfirst\r\n", ">>> "],
        ["x = 5; print('s' + 'et')\r", "\nset\r\n", ">>> "],
        ["%rollback first\r", "back at", ">>> "],
        ["x\r", "\n41\r\n", ">>> "],
        ["%branch b\r", "\u{1b}[32mb>>> "],
        ["x += 2; x\r", "\n43\r\n", "b>>> "],
        ["%branch\r", "\n* b\r\n", "main\r\n", "b>>> "],
        ["%branch main\r", ">>> "],
        ["x\r", "\n41\r\n", ">>> "],
        // Completes what was defined.
        ["a_long_name = 123456; print('de' 'fined')\r", "defined", ">>> "],
        ["a_lon\t\r", "\n123456\r\n", ">>> "],
        ["%vari\t\r", "a_long_name", "int", ">>> "],
        // In colours, and again from the history.
        ["1 / 0\r", "\u{1b}[33mZeroDivisionError", ">>> "],
        ["\u{1b}[A\r", "\u{1b}[33mZeroDivisionError", ">>> "],
        ["%usage\r", "ms wall", "heads", ">>> "],
        ["%nothing\r", "there is no %nothing", ">>> "],
        ["%help\r", "%rollback NAME", "Ctrl-C", ">>> "],
        ["\u{4}"],
    ]);
    let script = json!({ "command": command, "steps": steps }).to_string();
    let driver = folder.0.join("prompt.py");
    std::fs::write(&driver, include_str!("prompt.py")).unwrap();
    let ran = Command::new(python())
        .arg(&driver)
        .arg(script)
        .env("TMPDIR", &folder.0)
        .env_remove("CARBOY_STORE")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "0\n", "{said}");
    let kept = std::fs::read_to_string(&history).unwrap();
    assert!(kept.contains("%rollback first"), "{kept}");
    let mode = std::fs::metadata(&history).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "others can read what was typed");
}
