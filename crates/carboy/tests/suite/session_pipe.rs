//! Sessions over the pipe: every request once, and what is left of them when the caller goes.

use std::time::{Duration, Instant};

use carboy_protocol::pipe::{FailureKind, FromEngine};
use carboy_protocol::{Kind, Outcome, SessionAnswer, StateAfter, Stream, Walls};
use serde_json::{Value, json};

use crate::pipe::Pipe;
use crate::support::*;

/// A pipe with session 1, or a reason to skip: in nested walls there are none.
fn opened() -> Option<Pipe> {
    if walls() == Walls::Nested {
        skip("in nested walls there are no sessions");
        return None;
    }
    let mut pipe = Pipe::start();
    let policy = json!({ "limits": { "session_memory_bytes": 128 << 20, "wall_ms": 600_000 } });
    done(&mut pipe, 1, &json!({ "open": { "policy": policy } }));
    Some(pipe)
}

fn ask(pipe: &mut Pipe, session: u64, ask: &Value) -> FromEngine {
    pipe.say(&json!({ "session": { "id": 1, "session": session, "ask": ask } }));
    pipe.hear()
}

fn done(pipe: &mut Pipe, session: u64, what: &Value) {
    match ask(pipe, session, what) {
        FromEngine::Session { id: 1, answer: SessionAnswer::Done {} } => {}
        other => panic!("{what}: {other:?}"),
    }
}

/// Why something was refused.
fn refused(said: FromEngine) -> String {
    match said {
        FromEngine::Failed { failure, .. } if failure.kind == FailureKind::Request => {
            failure.message
        }
        other => panic!("{other:?}"),
    }
}

fn piece(pipe: &mut Pipe, session: u64, piece: &Value) -> (Outcome, StateAfter) {
    pipe.say(&json!({ "piece": { "id": 2, "session": session, "piece": piece } }));
    ended(pipe.hear())
}

fn ended(said: FromEngine) -> (Outcome, StateAfter) {
    match said {
        FromEngine::Outcome { outcome, state: Some(state), .. } => (*outcome, state),
        other => panic!("{other:?}"),
    }
}

fn value(pipe: &mut Pipe, session: u64, code: &str) -> String {
    let (outcome, state) = piece(pipe, session, &json!({ "code": code }));
    assert_eq!(state, StateAfter::Kept, "{outcome:?}");
    result(&outcome)
}

#[test]
fn a_session_is_kept_branched_rolled_back_and_closed() {
    let Some(mut pipe) = opened() else { return };
    let first = piece(&mut pipe, 1, &json!({ "code": "x = [n]", "inputs": { "n": 1 } }));
    assert_eq!(first.1, StateAfter::Kept);
    done(&mut pipe, 1, &json!({ "checkpoint": { "name": "one" } }));
    assert_eq!(value(&mut pipe, 1, "x.append(2)\nx"), "[1,2]");
    done(&mut pipe, 1, &json!({ "branch": { "session": 2 } }));
    let undone = json!({ "code": "x.append(9)\n1 / 0", "rollback": true });
    let (outcome, state) = piece(&mut pipe, 2, &undone);
    assert_eq!((error(&outcome).kind, state), (Kind::Exception, StateAfter::Restored));
    assert_eq!(value(&mut pipe, 2, "x.append(3)\nx"), "[1,2,3]");
    assert_eq!(value(&mut pipe, 1, "x"), "[1,2]");
    done(&mut pipe, 1, &json!({ "rollback": { "name": "one" } }));
    assert_eq!(value(&mut pipe, 1, "x"), "[1]");
    match ask(&mut pipe, 1, &json!({ "checkpoints": {} })) {
        FromEngine::Session { answer: SessionAnswer::Checkpoints { names }, .. } => {
            assert_eq!(names, ["one"]);
        }
        other => panic!("{other:?}"),
    }
    match ask(&mut pipe, 1, &json!({ "variables": {} })) {
        FromEngine::Session { answer: SessionAnswer::Variables(told), .. } => {
            let names: Vec<_> = told.variables.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, ["n", "x"]);
        }
        other => panic!("{other:?}"),
    }
    done(&mut pipe, 1, &json!({ "drop": { "name": "one" } }));
    let gone = refused(ask(&mut pipe, 1, &json!({ "rollback": { "name": "one" } })));
    assert!(gone.contains("no checkpoint `one`"), "{gone}");
    let open = refused(ask(&mut pipe, 2, &json!({ "open": {} })));
    assert!(open.contains("the number 2 is open"), "{open}");
    // What was opened takes its branch along.
    done(&mut pipe, 1, &json!({ "close": {} }));
    let over = refused(ask(&mut pipe, 2, &json!({ "variables": {} })));
    assert!(over.contains("it was closed"), "{over}");
    done(&mut pipe, 2, &json!({ "close": {} }));
    let none = refused(ask(&mut pipe, 2, &json!({ "close": {} })));
    assert!(none.contains("no session with the number 2"), "{none}");
    pipe.close();
}

#[test]
fn a_piece_is_a_run_like_another() {
    let Some(mut pipe) = opened() else { return };
    let code = "print('a', flush=True)\nx = double(4)\nx";
    let piece_with_tool = json!({ "code": code, "tools": [{ "name": "double" }] });
    pipe.say(
        &json!({ "piece": { "id": 7, "session": 1, "piece": piece_with_tool, "stream": true } }),
    );
    let mut printed = String::new();
    let (outcome, state) = loop {
        match pipe.hear() {
            FromEngine::Output { id: 7, stream: Stream::Stdout, text } => printed += &text,
            FromEngine::Call { id: 7, call, args, .. } => {
                assert_eq!(args.get(), "[4]");
                pipe.say(&json!({ "answer": { "id": 7, "call": call, "result": 8 } }));
            }
            other => break ended(other),
        }
    };
    assert_eq!((printed.as_str(), result(&outcome).as_str()), ("a\n", "8"));
    assert_eq!(state, StateAfter::Kept);
    // Cancelled, and stopped by a time of its own: the state is what it was.
    let endless = "x = 0\nprint('on', flush=True)\nwhile True:\n    pass";
    let endless_piece = json!({ "code": endless });
    pipe.say(
        &json!({ "piece": { "id": 8, "session": 1, "piece": endless_piece, "stream": true } }),
    );
    assert!(matches!(pipe.hear(), FromEngine::Output { id: 8, .. }));
    pipe.say(&json!({ "cancel": { "id": 8 } }));
    let (outcome, state) = ended(pipe.hear());
    assert_eq!((error(&outcome).kind, state), (Kind::Cancelled, StateAfter::Restored));
    let (outcome, state) = piece(&mut pipe, 1, &json!({ "code": endless, "wall_ms": 300 }));
    assert_eq!((error(&outcome).kind, state), (Kind::Limit, StateAfter::Restored));
    assert_eq!(value(&mut pipe, 1, "x"), "8");
    let none = json!({ "piece": { "id": 9, "session": 5, "piece": { "code": "1" } } });
    pipe.say(&none);
    assert!(refused(pipe.hear()).contains("no session with the number 5"));
    pipe.close();
}

#[test]
fn the_end_of_the_pipe_ends_every_session() {
    let Some(mut pipe) = opened() else { return };
    done(&mut pipe, 1, &json!({ "branch": { "session": 2 } }));
    let endless = json!({ "code": "print('on', flush=True)\nwhile True:\n    pass" });
    pipe.say(&json!({ "piece": { "id": 3, "session": 2, "piece": endless, "stream": true } }));
    assert!(matches!(pipe.hear(), FromEngine::Output { id: 3, .. }));
    let since = Instant::now();
    pipe.close();
    assert!(since.elapsed() < Duration::from_secs(300), "it waited for the run's own limit");
}
