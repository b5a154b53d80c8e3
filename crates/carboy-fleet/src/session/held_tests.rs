//! What a node does with sessions, whoever asks.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use carboy_engine::RunOptions;
use serde_json::json;
use tokio::sync::oneshot;

use super::held::{Doing, HeldSessions, HoldsSessions};
use super::message::{Fault, SessionOf, Told, Wanted};
use super::scripted::Scripted;

type Held = Arc<HeldSessions<Scripted>>;

fn node(most: usize) -> (Arc<Scripted>, Held) {
    let runner = Scripted::new();
    let held = HeldSessions::new(runner.clone(), most);
    (runner, held)
}

fn ask(held: &Held, id: &str, what: Wanted) -> Doing {
    let body = match what {
        Wanted::Open {} => Bytes::from_static(b"{}"),
        _ => Bytes::new(),
    };
    held.clone().ask("acme", SessionOf { id: id.into(), what }, body, RunOptions::default())
}

fn run_with(held: &Held, id: &str, code: &str, options: RunOptions) -> Doing {
    let body = Bytes::from(json!({ "code": code }).to_string());
    held.clone().ask("acme", SessionOf { id: id.into(), what: Wanted::Run {} }, body, options)
}

fn run(held: &Held, id: &str, code: &str) -> Doing {
    run_with(held, id, code, RunOptions::default())
}

async fn codes(held: &Held, id: &str, code: &str) -> String {
    match run(held, id, code).await {
        Told::Reply(reply) => reply.note.expect("a note"),
        other => panic!("{other:?}"),
    }
}

fn fault(told: Told) -> Fault {
    match told {
        Told::Not(fault) => fault,
        other => panic!("{other:?}"),
    }
}

async fn opened(held: &Held, id: &str) {
    assert!(matches!(ask(held, id, Wanted::Open {}).await, Told::Done {}));
}

#[tokio::test]
async fn what_is_asked_of_a_session_is_done_in_the_order_in_which_it_came() {
    let (runner, held) = node(4);
    opened(&held, "a").await;
    let mut doing: Vec<_> =
        ["hold", "1", "2", "3"].iter().map(|code| run(&held, "a", code)).collect();
    // Whoever waits for the last answer first does not get ahead.
    doing.reverse();
    let all: Vec<_> = doing.into_iter().map(tokio::spawn).collect();
    runner.release.add_permits(1);
    for one in all {
        assert!(matches!(one.await, Ok(Told::Reply(_))));
    }
    assert_eq!(codes(&held, "a", "4").await, "hold 1 2 3 4");
}

#[tokio::test]
async fn a_session_is_its_tenants_and_there_are_so_many() {
    let (_runner, held) = node(1);
    opened(&held, "a").await;
    assert!(matches!(ask(&held, "a", Wanted::Attach {}).await, Told::Done {}));
    let asked = SessionOf { id: "a".into(), what: Wanted::Attach {} };
    let foreign = held.clone().ask("other", asked, Bytes::new(), RunOptions::default()).await;
    assert_eq!(fault(foreign), Fault::Unknown {});
    assert!(matches!(fault(ask(&held, "b", Wanted::Open {}).await), Fault::Full { .. }));
    let branch = Wanted::Branch { to: "b".into() };
    assert!(matches!(fault(ask(&held, "a", branch).await), Fault::Full { .. }));
    assert!(matches!(ask(&held, "a", Wanted::Close {}).await, Told::Done {}));
    assert!(matches!(fault(ask(&held, "a", Wanted::Attach {}).await), Fault::Over { .. }));
    opened(&held, "b").await;
}

#[tokio::test]
async fn a_branch_goes_its_own_way_and_a_node_that_drains_makes_none() {
    let (runner, held) = node(4);
    opened(&held, "a").await;
    assert_eq!(codes(&held, "a", "1").await, "1");
    assert!(matches!(ask(&held, "a", Wanted::Branch { to: "b".into() }).await, Told::Done {}));
    assert_eq!(codes(&held, "b", "2").await, "1 2");
    assert_eq!(codes(&held, "a", "3").await, "1 3");
    held.drain();
    assert_eq!(fault(ask(&held, "c", Wanted::Open {}).await), Fault::Drained {});
    assert_eq!(fault(ask(&held, "a", Wanted::Branch { to: "c".into() }).await), Fault::Drained {});
    assert_eq!(codes(&held, "b", "4").await, "1 2 4");
    held.close_all().await;
    assert_eq!((held.count(), runner.seen.open.load(Ordering::SeqCst)), (0, 0));
    assert!(matches!(fault(run(&held, "b", "5").await), Fault::Over { .. }));
}

#[tokio::test]
async fn one_that_is_over_is_let_go_and_remembered() {
    let (_runner, held) = node(4);
    opened(&held, "a").await;
    assert!(matches!(run(&held, "a", "die").await, Told::Reply(_)));
    assert_eq!(held.count(), 0);
    let why = "as the script says".into();
    assert_eq!(fault(run(&held, "a", "1").await), Fault::Over { why });
}

#[tokio::test]
async fn one_that_nobody_waits_for_any_more_is_not_opened() {
    let (runner, held) = node(4);
    let slow = Bytes::from_static(br#"{"inputs": {"code": 1}}"#);
    let asked = || SessionOf { id: "a".into(), what: Wanted::Open {} };
    // Dropped, cancelled, closed.
    drop(held.clone().ask("acme", asked(), slow.clone(), RunOptions::default()));
    assert_eq!(held.count(), 0);
    let (cancel, cancelled) = oneshot::channel();
    let options = RunOptions { cancel: Some(cancelled), ..RunOptions::default() };
    let opening = held.clone().ask("acme", asked(), slow.clone(), options);
    cancel.send(()).expect("a listener");
    assert_eq!(fault(opening.await), Fault::Cancelled {});
    let opening = held.clone().ask("acme", asked(), slow, RunOptions::default());
    assert!(matches!(ask(&held, "a", Wanted::Close {}).await, Told::Done {}));
    runner.release.add_permits(1);
    assert_eq!(fault(opening.await), Fault::Cancelled {});
    assert_eq!((held.count(), runner.seen.open.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn what_waits_for_its_turn_can_be_cancelled_and_has_a_deadline() {
    let (runner, held) = node(4);
    opened(&held, "a").await;
    let holds = tokio::spawn(run(&held, "a", "hold"));
    let (cancel, cancelled) = oneshot::channel();
    let options = RunOptions { cancel: Some(cancelled), ..RunOptions::default() };
    let waits = run_with(&held, "a", "1", options);
    cancel.send(()).expect("a listener");
    assert_eq!(fault(waits.await), Fault::Cancelled {});
    let deadline = Some(std::time::Instant::now() + Duration::from_millis(1));
    let late = run_with(&held, "a", "2", RunOptions { deadline, ..RunOptions::default() });
    assert!(matches!(fault(late.await), Fault::Full { .. }));
    let many: Vec<_> = (0..64).map(|_| run(&held, "a", "3")).collect();
    runner.release.add_permits(1);
    assert!(matches!(holds.await, Ok(Told::Reply(_))));
    let mut refused = 0;
    for one in many {
        refused += usize::from(matches!(one.await, Told::Not(Fault::Full { .. })));
    }
    assert!((48..64).contains(&refused), "{refused}");
    assert!(codes(&held, "a", "4").await.starts_with("hold 3 3"));
}

#[tokio::test]
async fn what_cannot_be_read_is_said() {
    let (_runner, held) = node(4);
    opened(&held, "a").await;
    for what in [Wanted::Run {}, Wanted::Open {}] {
        let asked = SessionOf { id: "a".into(), what };
        let told =
            held.clone().ask("acme", asked, Bytes::from_static(b"{"), RunOptions::default()).await;
        assert!(matches!(fault(told), Fault::Failed(_)));
    }
    let missing = Wanted::Rollback { name: "x".into() };
    assert_eq!(fault(ask(&held, "a", missing).await), Fault::NoCheckpoint { name: "x".into() });
}
