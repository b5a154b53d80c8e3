//! A search through a tree of branches: the right value at every leaf, and nothing left of those that were closed.
//!
//! `CARBOY_TEST_BRANCHES` says how many branches are made; the gate makes a few.

use std::time::{Duration, Instant};

use carboy_engine::Session;
use carboy_protocol::Walls;

use crate::support::*;

const DEPTH: usize = 10;

struct Search {
    left: usize,
    leaves: usize,
}

impl Search {
    /// Goes on from a session whose code has come this far, until there are enough branches.
    async fn below(&mut self, session: &Session, path: &[usize]) {
        let held = format!("{path:?}").replace(' ', "");
        let reply = session.run("path").await.unwrap();
        assert_eq!(result(&reply.outcome), held);
        if path.len() == DEPTH {
            self.leaves += 1;
            return;
        }
        for step in 0..2 {
            if self.left == 0 {
                return;
            }
            self.left -= 1;
            let branch = session.branch().await.unwrap();
            branch.run(format!("path.append({step})")).await.unwrap();
            Box::pin(self.below(&branch, &[path, &[step]].concat())).await;
            branch.close().await;
        }
        // What was done in branches is not seen here.
        let reply = session.run("path").await.unwrap();
        assert_eq!(result(&reply.outcome), held);
    }
}

#[tokio::test]
async fn a_tree_of_branches_is_searched_and_nothing_is_left_of_it() {
    if walls() == Walls::Nested {
        return skip("in nested walls there are no sessions");
    }
    let branches = size("CARBOY_TEST_BRANCHES", 30);
    let bench = Bench::new();
    // As many as there are at once: one on each level.
    let heads = DEPTH as u64 + 1;
    let policy = policy(|limits| {
        limits.session_memory_bytes = 128 << 20;
        limits.heads = heads;
    });
    let session = bench.engine.session(&policy).await.unwrap();
    session.run("path = []").await.unwrap();
    let mut search = Search { left: branches, leaves: 0 };
    search.below(&session, &[]).await;
    assert!(search.leaves >= 2, "{} leaves", search.leaves);
    // Every place is free again, and no more than these.
    let mut open = vec![];
    for _ in 1..heads {
        open.push(session.branch().await.unwrap());
    }
    let refused = session.branch().await.err().unwrap().to_string();
    assert!(refused.contains(&heads.to_string()), "{refused}");
    for branch in &open {
        branch.close().await;
    }
    // The first process, the head and its copy. What was killed may take a while to go.
    let first = session.process();
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let alive = descendants(first).into_iter().filter(|pid| !is_gone(*pid)).count();
        if alive <= 3 {
            break;
        }
        assert!(Instant::now() < until, "{alive} processes are left of closed branches");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    session.close().await;
    assert!(is_gone(first));
    drop((session, open));
    bench.close().await;
}
