//! What runs say on their way to the caller: output, calls, and how they end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use carboy_engine::{FleetError, RunError, RunOptions};
use carboy_fleet::Fate;
use carboy_protocol::Job;
use carboy_protocol::pipe::FailureKind;
use tokio::sync::oneshot;

use crate::world::{World, answering, doubling, failure, listening, result, settle, until};

#[tokio::test]
async fn output_comes_in_order_and_more_of_it_than_fits_on_the_way() {
    let world = World::new(&[1]).await;
    // Larger than a message, and more than may be under way.
    for (count, size) in [(3, 1), (500, 10), (12, 600_000)] {
        let (options, mut printed, begun) = listening();
        let run = world.start_with(Job::new(format!("print {count} {size}")), options);
        begun.await.expect("it begins");
        let mut bytes = Vec::new();
        while let Some(chunk) = printed.recv().await {
            bytes.extend(chunk.bytes);
        }
        let wanted: Vec<u8> = (0..count)
            .flat_map(|number| vec![u8::try_from(number % 251).expect("small"); size])
            .collect();
        assert!(bytes == wanted, "{} of {} bytes", bytes.len(), wanted.len());
        result(run).await;
    }
}

#[tokio::test]
async fn a_reader_that_stops_holds_the_run_and_no_more_than_a_window() {
    let world = World::new(&[2]).await;
    let (options, mut printed, begun) = listening();
    let run = world.start_with(Job::new("print 5000 1000"), options);
    begun.await.expect("it begins");
    settle().await;
    assert!(!run.is_finished());
    // Others are not held.
    assert_eq!(world.run("other").await, "\"other\"");
    world.pass(Duration::from_secs(5)).await;
    let mut bytes = 0;
    while let Some(chunk) = printed.recv().await {
        bytes += chunk.bytes.len();
    }
    assert_eq!(bytes, 5_000_000);
    result(run).await;
}

#[tokio::test]
async fn calls_are_answered_across_the_bus() {
    let world = World::new(&[1]).await;
    let (job, options) = doubling();
    assert_eq!(result(world.start_with(job, options)).await, "6");
}

#[tokio::test]
async fn an_answer_larger_than_a_message_comes_in_pieces_also_if_some_are_lost() {
    let world = World::new(&[1]).await;
    let (mut job, options) = answering(|number| serde_json::json!("x".repeat(3_000_000 + number)));
    job.code = "lengths 3".into();
    let lost = Arc::new(AtomicU32::new(0));
    let count = lost.clone();
    world.bus.set_fault(move |message| {
        let is_piece = message.subject.ends_with(".say") && message.payload.len() > 100_000;
        let is_third = is_piece && count.fetch_add(1, Ordering::Relaxed) == 2;
        if is_third { Fate::Lost } else { Fate::Arrive }
    });
    let run = world.start_with(job, options);
    while !run.is_finished() {
        world.pass(Duration::from_millis(50)).await;
    }
    // With the quotes around them.
    assert_eq!(result(run).await, "9000009");
    assert!(lost.load(Ordering::Relaxed) > 36, "pieces were sent again");
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn an_outcome_larger_than_a_message_comes_in_pieces() {
    let world = World::new(&[1]).await;
    assert_eq!(world.run("large 5000000").await.len(), 5_000_002);
}

#[tokio::test]
async fn a_nodes_own_failure_is_passed_on_with_its_kind() {
    let world = World::new(&[1]).await;
    for code in ["fail", "panic"] {
        let error = failure(world.start(code)).await;
        assert!(matches!(&error, RunError::Fleet(FleetError::Node(_))), "{error:?}");
        assert_eq!(error.kind(), FailureKind::Engine);
    }
    assert_eq!(world.run("after").await, "\"after\"");
}

#[tokio::test]
async fn a_cancelled_run_says_how_it_ended_and_one_that_waits_is_not_begun() {
    let world = World::new(&[1]).await;
    let (stop, cancel) = oneshot::channel();
    let options = RunOptions { cancel: Some(cancel), ..RunOptions::default() };
    let run = world.start_with(Job::new("wait cancel"), options);
    world.stage.until_begun(1).await;
    let (give_up, cancel) = oneshot::channel();
    let options = RunOptions { cancel: Some(cancel), ..RunOptions::default() };
    let waits = world.start_with(Job::new("x"), options);
    until(|| world.gateway.beat().waiting == 1).await;
    give_up.send(()).expect("it listens");
    assert!(matches!(failure(waits).await, RunError::Cancelled));
    stop.send(()).expect("it listens");
    assert_eq!(result(run).await, "\"stopped\"");
    assert_eq!(world.stage.begun("x"), 0);
}

#[tokio::test]
async fn dropping_a_run_ends_it_on_its_node() {
    let world = World::new(&[1]).await;
    let run = world.start("wait dropped");
    world.stage.until_begun(1).await;
    run.abort();
    world.stage.until_dropped("wait dropped").await;
    // The next heartbeat says that there is a place again.
    world.pass(Duration::from_millis(50)).await;
    assert_eq!(world.run("after").await, "\"after\"");
    assert_eq!(world.gateway.beat().running, 0);
}
