//! A gateway that cannot hear: its own link is cut, or its broker is away.

use std::time::Duration;

use carboy_engine::{FleetError, RunError, Runner};

use crate::world::{World, doubling, failure, result, settle};

fn is_unreachable(error: &RunError) -> bool {
    matches!(error, RunError::Fleet(FleetError::Unreachable { .. }))
}

fn is_lost(error: &RunError) -> bool {
    matches!(error, RunError::Fleet(FleetError::WorkerLost))
}

#[tokio::test]
async fn nodes_that_fall_silent_all_at_once_are_not_taken_for_dead() {
    let world = World::new(&[1, 1]).await;
    let (mut job, options) = doubling();
    job.code = "wait link".into();
    let run = world.start_with(job, options);
    world.stage.until_begun(1).await;
    // It is some time until the client notices that the link is cut, and some more until it has another.
    world.bus.deafen();
    world.pass(Duration::from_millis(1400)).await;
    world.bus.cut();
    world.pass(Duration::from_millis(600)).await;
    world.stage.go.notify_waiters();
    settle().await;
    assert!(!run.is_finished());
    world.bus.mend();
    world.pass(Duration::from_millis(100)).await;
    assert_eq!(result(run).await, "\"wait link\"", "it was asked for as soon as it could be");
    let beat = world.gateway.beat();
    assert_eq!((world.stage.all(), beat.again, beat.lost), (1, 0, 0));
}

#[tokio::test]
async fn the_only_node_is_noticed_at_once_when_it_dies() {
    let mut world = World::new(&[1]).await;
    let (mut job, options) = doubling();
    job.code = "wait alone".into();
    let run = world.start_with(job, options);
    world.stage.until_begun(1).await;
    world.nodes.remove(0).kill();
    world.pass(Duration::from_millis(250)).await;
    assert!(is_lost(&failure(run).await));
}

#[tokio::test]
async fn the_only_node_is_given_up_when_it_freezes() {
    let world = World::new(&[1]).await;
    let (mut job, options) = doubling();
    job.code = "wait frozen".into();
    let run = world.start_with(job, options);
    world.stage.until_begun(1).await;
    world.nodes[0].bus.cut();
    world.pass(Duration::from_millis(1500)).await;
    assert!(!run.is_finished(), "it may be the gateway that does not hear");
    world.pass(Duration::from_millis(800)).await;
    assert!(is_lost(&failure(run).await));
}

#[tokio::test]
async fn a_broker_without_any_of_the_nodes_is_left_for_another() {
    let world = World::new(&[1, 1]).await;
    let run = world.start("wait move");
    world.stage.until_begun(1).await;
    // The broker answers, and nothing comes from beyond it.
    world.bus.deafen();
    world.pass(Duration::from_millis(1400)).await;
    world.stage.go.notify_waiters();
    settle().await;
    assert!(!run.is_finished());
    world.pass(Duration::from_millis(500)).await;
    assert_eq!(result(run).await, "\"wait move\"");
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn nodes_have_time_to_come_back_when_the_link_does() {
    let mut world = World::new(&[1, 1]).await;
    let run = world.start("wait back");
    world.stage.until_begun(1).await;
    let place = world.nodes.iter().position(|node| node.worker.hint().free == 0).expect("it");
    world.bus.cut();
    world.pass(Duration::from_millis(500)).await;
    world.nodes.remove(place).kill();
    world.bus.mend();
    // A broker that was started again has nobody who listens yet.
    world.pass(Duration::from_millis(1900)).await;
    assert_eq!(world.stage.all(), 1, "the node may be on its way");
    world.pass(Duration::from_millis(300)).await;
    world.stage.until_begun(2).await;
    world.stage.go.notify_waiters();
    assert_eq!(result(run).await, "\"wait back\"");
}

#[tokio::test]
async fn without_a_broker_requests_wait_as_long_as_for_a_place_and_nothing_is_sent() {
    let world = World::new(&[1]).await;
    world.bus.cut();
    world.pass(Duration::from_millis(50)).await;
    let run = world.start("outage");
    world.pass(Duration::from_secs(9)).await;
    assert!(!run.is_finished(), "there may be one in a moment");
    world.pass(Duration::from_millis(1500)).await;
    let error = failure(run).await;
    assert!(is_unreachable(&error), "{error:?}");
    world.bus.mend();
    world.pass(Duration::from_secs(1)).await;
    assert_eq!((world.stage.all(), world.gateway.beat().lost), (0, 0));
    assert_eq!(world.run("after").await, "\"after\"");
}

#[tokio::test]
async fn a_request_that_waits_for_a_broker_is_served_when_there_is_one() {
    let world = World::new(&[1]).await;
    world.bus.cut();
    let run = world.start("patient");
    world.pass(Duration::from_secs(5)).await;
    world.bus.mend();
    world.pass(Duration::from_millis(500)).await;
    assert_eq!(result(run).await, "\"patient\"");
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn what_was_sent_into_an_outage_ends_with_the_same_bound() {
    let world = World::new(&[3]).await;
    let running = world.start("wait running");
    world.stage.until_begun(1).await;
    world.pass(Duration::from_millis(300)).await;
    world.bus.deafen();
    let repeated = world.start("repeated");
    let (job, options) = doubling();
    let once = world.start_with(job, options);
    settle().await;
    // No broker: the node has none either, and does not take the gateway for dead.
    world.bus.cut();
    world.nodes[0].bus.cut();
    world.pass(Duration::from_secs(11)).await;
    // Nothing is known of the one that could be repeated; the other may have called somebody.
    assert!(is_unreachable(&failure(repeated).await));
    assert!(is_lost(&failure(once).await));
    // One that is known to run is waited for.
    world.stage.go.notify_waiters();
    settle().await;
    assert!(!running.is_finished());
    world.nodes[0].bus.mend();
    world.bus.mend();
    world.pass(Duration::from_millis(500)).await;
    assert_eq!(result(running).await, "\"wait running\"");
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn a_gateway_says_why_it_is_not_ready() {
    let mut world = World::new(&[]).await;
    assert_eq!(world.gateway.unready(), Some("no node is heard of"));
    world.join(1, None).await;
    assert_eq!(world.gateway.unready(), None);
    world.bus.cut();
    assert_eq!(world.gateway.unready(), Some("no broker can be reached"));
    world.bus.mend();
    world.pass(Duration::from_millis(300)).await;
    assert_eq!(world.gateway.unready(), None);
    world.nodes[0].bus.cut();
    world.pass(Duration::from_millis(1300)).await;
    assert_eq!(world.gateway.unready(), Some("no node is heard of"));
}
