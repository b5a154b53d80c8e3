//! Many sessions with random work, for as long as one likes: each holds what it must, and the engine grows by
//! nothing that is not theirs.
//!
//! `CARBOY_TEST_SESSIONS` and `CARBOY_TEST_SESSION_SECONDS` say how many and how long; `just soak-sessions` holds 200 for
//! ten minutes.

use std::time::{Duration, Instant};

use carboy_engine::{GateConfig, PoolConfig, RunOptions, Session};
use carboy_protocol::{Piece, StateAfter, Walls};
use tokio::task::JoinSet;

use crate::session_model::Dice;
use crate::sessions::{small, value};
use crate::support::*;

/// What the engine's own memory may grow by: what allocators keep.
const GROWTH: u64 = 64 << 20;
/// How many steps each session takes at least, however slow the machine is.
const STEPS: usize = 6;

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

/// What this process holds: descriptors, processes below it that have not ended, private memory in bytes.
#[derive(Debug)]
struct Level {
    descriptors: usize,
    processes: usize,
    memory: u64,
}

impl Level {
    fn now() -> Level {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        let kilobytes: u64 = anonymous.trim().trim_end_matches(" kB").parse().unwrap();
        Level {
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            processes: below(std::process::id()),
            memory: kilobytes << 10,
        }
    }

    fn is_within(&self, most: &Level) -> bool {
        self.descriptors <= most.descriptors
            && self.processes <= most.processes
            && self.memory <= most.memory + GROWTH
    }
}

/// How many processes there are below this one that have not ended.
fn below(process: u32) -> usize {
    let threads = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    let mut count = 0;
    for thread in threads.flatten() {
        let children = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace().filter_map(|child| child.parse().ok()) {
            let stat = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            let has_ended = stat.rsplit_once(')').is_none_or(|(_, rest)| rest.starts_with(" Z"));
            count += usize::from(!has_ended) + below(child);
        }
    }
    count
}

/// One step of a session whose variable `x` has this value; what it has then.
async fn step(dice: &mut Dice, session: &Session, x: u64) -> u64 {
    let run = async |code: &str, rollback: bool| {
        let piece = Piece { code: code.into(), rollback, ..Piece::default() };
        session.run_with(piece, RunOptions::default()).await.unwrap().state
    };
    match dice.throw(9) {
        0 | 1 => {
            assert_eq!(run("x += 1", false).await, StateAfter::Kept);
            return x + 1;
        }
        2 => assert_eq!(run("x = -1\nimport os; os._exit(1)", false).await, StateAfter::Restored),
        3 => assert_eq!(run("x = -1\n1 / 0", true).await, StateAfter::Restored),
        4 => {
            let code =
                "data = bytearray(4 << 20)\nopen('file', 'wb').write(data[:99_999])\ndel data";
            assert_eq!(run(code, false).await, StateAfter::Kept);
        }
        5 => {
            let code = "import os\nif os.path.exists('file'): os.unlink('file')";
            assert_eq!(run(code, false).await, StateAfter::Kept);
        }
        6 => {
            let branch = session.branch().await.unwrap();
            assert_eq!(value(&branch, "x += 5\nx").await, (x + 5).to_string());
            branch.close().await;
        }
        7 => {
            session.checkpoint("here").await.unwrap();
            assert_eq!(run("x += 7", false).await, StateAfter::Kept);
            session.rollback("here").await.unwrap();
            session.drop_checkpoint("here").await.unwrap();
        }
        _ => assert!(session.variables().await.unwrap().variables.iter().any(|v| v.name == "x")),
    }
    x
}

/// Waits until nothing is under way in these sessions, and the engine holds no more than this.
async fn settles(sessions: &[Session], most: &Level, when: &str) {
    let started = Instant::now();
    loop {
        for session in sessions {
            session.checkpoints().await.unwrap();
        }
        let now = Level::now();
        if now.is_within(most) {
            return;
        }
        assert!(started.elapsed() < LONG, "{when}: {now:?}, and {most:?} before");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_with_random_work_grow_by_nothing_that_is_not_theirs() {
    if walls() == Walls::Nested {
        return skip("in nested walls there are no sessions");
    }
    let (count, seconds) =
        (number("CARBOY_TEST_SESSIONS", 6), number("CARBOY_TEST_SESSION_SECONDS", 3));
    let bench = Bench::made(python(), &[], |config| {
        config.pool = PoolConfig { ceiling: 0, ..PoolConfig::default() };
        config.gate = GateConfig {
            memory_bytes: Some(1 << 40),
            waiting: usize::MAX,
            patience: Duration::from_secs(600),
            ..GateConfig::default()
        };
    });
    // What the engine opens once is open after this.
    bench.engine.session(&small(|_| {})).await.unwrap().close().await;
    let empty = Level::now();
    let mut sessions = vec![];
    for _ in 0..count {
        let policy = small(|limits| limits.wall_ms = 600_000);
        let session = bench.engine.session(&policy).await.unwrap();
        value(&session, "x = 0\nx").await;
        session.checkpoints().await.unwrap();
        sessions.push(session);
    }
    let held = Level::now();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut work = JoinSet::new();
    for (seed, session) in sessions.into_iter().enumerate() {
        work.spawn(async move {
            let (mut dice, mut x, mut steps) = (Dice(seed as u64 * 7919 + 1), 0, 0);
            while steps < STEPS || Instant::now() < end {
                x = step(&mut dice, &session, x).await;
                steps += 1;
            }
            assert_eq!(value(&session, "x").await, x.to_string());
            (session, steps)
        });
    }
    let done = work.join_all().await;
    let steps: usize = done.iter().map(|(_, steps)| steps).sum();
    let sessions: Vec<_> = done.into_iter().map(|(session, _)| session).collect();
    settles(&sessions, &held, "after the work").await;
    eprintln!("{count} sessions, {steps} steps: {held:?} before, {:?} after", Level::now());
    for session in &sessions {
        session.close().await;
    }
    drop(sessions);
    settles(&[], &empty, "at the end").await;
    bench.close().await;
}
