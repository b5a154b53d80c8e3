//! Random sequences of what can be done with a session, against a simple model of what every variable must be.
//!
//! `CARBOY_TEST_SEQUENCES` says how many; the gate runs a few. A failure names the seed.

use std::collections::BTreeMap;

use carboy_engine::{RunOptions, Session};
use carboy_protocol::{Piece, StateAfter, Walls};
use tokio::sync::{mpsc, oneshot};

use crate::support::*;

const STEPS: usize = 14;
const LINES: usize = 3;

/// Numbers that are the same for the same seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }
}

type Variables = [u64; 3];

/// A session and what it must hold.
struct Line {
    session: Session,
    holds: Variables,
    kept: BTreeMap<String, Variables>,
}

impl Line {
    async fn check(&self, what: &str) {
        let reply = self.session.run("[a, b, c]").await.unwrap();
        let expected = format!("{:?}", self.holds).replace(' ', "");
        assert_eq!(result(&reply.outcome), expected, "{what}");
    }

    /// Runs code that changes a variable and then does something.
    async fn change(&mut self, name: usize, value: u64, then: &str, rollback: bool) -> StateAfter {
        let code = format!("{} = {value}\n{then}", ["a", "b", "c"][name]);
        let piece = Piece { code, rollback, ..Piece::default() };
        self.session.run_with(piece, RunOptions::default()).await.unwrap().state
    }

    /// The same, ended by its caller when it has begun.
    async fn cancelled(&mut self, name: usize, value: u64) -> StateAfter {
        let then = "print('in')\nimport time\ntime.sleep(1000)";
        let code = format!("{} = {value}\n{then}", ["a", "b", "c"][name]);
        let (chunks, mut printed) = mpsc::channel(4);
        let (stop, cancel) = oneshot::channel();
        let options =
            RunOptions { chunks: Some(chunks), cancel: Some(cancel), ..RunOptions::default() };
        let piece = Piece { code, ..Piece::default() };
        let (reply, ()) = tokio::join!(self.session.run_with(piece, options), async {
            printed.recv().await.unwrap();
            stop.send(()).unwrap();
        });
        reply.unwrap().state
    }
}

/// One step on one line; what it was.
async fn step(dice: &mut Dice, lines: &mut Vec<Line>) -> String {
    let at = dice.throw(lines.len());
    let (name, value) = (dice.throw(3), dice.throw(1000) as u64);
    let kind = dice.throw(10);
    let has_room = lines.len() < LINES;
    let line = &mut lines[at];
    let (kept, restored) = (StateAfter::Kept, StateAfter::Restored);
    match kind {
        0 | 1 => {
            assert_eq!(line.change(name, value, "", false).await, kept);
            line.holds[name] = value;
        }
        2 => {
            assert_eq!(line.change(name, value, "1 / 0", false).await, kept);
            line.holds[name] = value;
        }
        3 => assert_eq!(line.change(name, value, "1 / 0", true).await, restored),
        4 => {
            let crash = "import ctypes\nctypes.string_at(0)";
            assert_eq!(line.change(name, value, crash, false).await, restored);
        }
        5 => assert_eq!(line.change(name, value, "bytearray(1 << 40)", false).await, restored),
        6 => assert_eq!(line.cancelled(name, value).await, restored),
        7 => {
            let kept = ["one", "two"][dice.throw(2)].to_owned();
            line.session.checkpoint(&kept).await.unwrap();
            line.kept.insert(kept, line.holds);
        }
        8 => {
            if let Some((kept, holds)) = line.kept.iter().next() {
                line.session.rollback(kept).await.unwrap();
                line.holds = *holds;
            }
        }
        _ if has_room => {
            let (session, holds) = (line.session.branch().await.unwrap(), line.holds);
            lines.push(Line { session, holds, kept: BTreeMap::new() });
        }
        // The first one ends all of them.
        _ if at > 0 => {
            let closed = lines.swap_remove(at);
            closed.session.close().await;
        }
        _ => {}
    }
    format!("kind {kind} on line {at}, variable {name}, value {value}")
}

#[tokio::test]
async fn a_session_holds_what_a_simple_model_says() {
    if walls() == Walls::Nested {
        return skip("in nested walls there are no sessions");
    }
    let bench = Bench::new();
    for seed in 1..=size("CARBOY_TEST_SEQUENCES", 4) as u64 {
        let policy = policy(|limits| limits.session_memory_bytes = 128 << 20);
        let session = bench.engine.session(&policy).await.unwrap();
        session.run("a, b, c = 0, 0, 0").await.unwrap();
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut lines = vec![Line { session, holds: [0; 3], kept: BTreeMap::new() }];
        for number in 0..STEPS {
            let did = step(&mut dice, &mut lines).await;
            let look = dice.throw(lines.len());
            lines[look].check(&format!("seed {seed}, step {number}: {did}; line {look}")).await;
        }
        for (number, line) in lines.iter().enumerate() {
            line.check(&format!("seed {seed}, at the end, line {number}")).await;
        }
        lines[0].session.close().await;
    }
    bench.close().await;
}
