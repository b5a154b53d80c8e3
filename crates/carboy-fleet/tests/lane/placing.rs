//! Which node a run goes to, who waits, and who is told to come again.

use std::time::{Duration, Instant};

use carboy_engine::{FleetError, Load, RunError, RunOptions};
use carboy_fleet::RoomBounds;
use carboy_protocol::Job;

use crate::world::{World, failure, result, settle, until};

fn of(tenant: &str) -> RunOptions {
    RunOptions { tenant: tenant.into(), ..RunOptions::default() }
}

#[tokio::test]
async fn a_run_comes_to_its_end_on_a_node_and_once() {
    let world = World::new(&[2, 2]).await;
    assert_eq!(world.run("one").await, "\"one\"");
    assert_eq!(world.stage.begun("one"), 1);
    assert_eq!(world.gateway.beat().running, 0);
}

#[tokio::test]
async fn runs_of_one_policy_go_where_its_jars_stand_while_there_is_room() {
    let world = World::new(&[8; 12]).await;
    let mut used = std::collections::BTreeSet::new();
    for number in 0..30 {
        let run = world.start(&format!("wait {number}"));
        world.stage.until_begun(number + 1).await;
        let busy = world.nodes.iter().position(|node| node.worker.hint().free < 8);
        used.insert(busy.expect("a node that runs it"));
        world.stage.go.notify_waiters();
        result(run).await;
    }
    assert!(used.len() <= 4, "{used:?}");
    let runs: Vec<_> = (30..54).map(|number| world.start(&format!("wait {number}"))).collect();
    world.stage.until_begun(54).await;
    let busy = world.nodes.iter().filter(|node| node.worker.hint().free < 8).count();
    assert!(busy > 4, "{busy} nodes have 24 runs");
    world.stage.go.notify_waiters();
    for run in runs {
        result(run).await;
    }
}

#[tokio::test]
async fn a_full_node_refuses_and_another_takes_it() {
    let world = World::new(&[1, 1]).await;
    let runs = [world.start("wait a"), world.start("wait b")];
    world.stage.until_begun(2).await;
    assert!(world.nodes.iter().all(|node| node.worker.hint().free == 0));
    world.stage.go.notify_waiters();
    for run in runs {
        result(run).await;
    }
}

#[tokio::test]
async fn who_finds_no_place_waits_for_the_next_and_tenants_take_turns() {
    let world = World::new(&[1]).await;
    let first = world.start("wait first");
    world.stage.until_begun(1).await;
    let many: Vec<_> = ["wait a1", "wait a2", "wait a3"]
        .into_iter()
        .map(|code| world.start_with(Job::new(code), of("a")))
        .collect();
    until(|| world.gateway.beat().waiting == 3).await;
    let one = world.start_with(Job::new("wait b1"), of("b"));
    until(|| world.gateway.beat().waiting == 4).await;
    for (count, code) in [(2, "wait a1"), (3, "wait b1"), (4, "wait a2"), (5, "wait a3")] {
        world.stage.go.notify_waiters();
        world.stage.until_begun(count).await;
        assert_eq!(world.stage.begun(code), 1, "{code}");
        settle().await;
    }
    world.stage.go.notify_waiters();
    for run in many.into_iter().chain([first, one]) {
        result(run).await;
    }
}

#[tokio::test]
async fn the_room_is_bounded_for_each_tenant_and_for_all() {
    let world = World::with_room(&[1], RoomBounds { all: 3, each: 2 }).await;
    let _running = world.start("wait running");
    world.stage.until_begun(1).await;
    let _waiting: Vec<_> = (0..2).map(|_| world.start_with(Job::new("x"), of("a"))).collect();
    until(|| world.gateway.beat().waiting == 2).await;
    let full = failure(world.start_with(Job::new("x"), of("a"))).await;
    assert!(matches!(full, RunError::Fleet(FleetError::TenantFull { .. })), "{full:?}");
    let _other = world.start_with(Job::new("x"), of("b"));
    until(|| world.gateway.beat().waiting == 3).await;
    let full = failure(world.start_with(Job::new("x"), of("c"))).await;
    assert!(matches!(full, RunError::Fleet(FleetError::Full { .. })), "{full:?}");
    assert_eq!(world.gateway.beat().refused, 2);
}

#[tokio::test]
async fn who_waits_longer_than_the_answer_is_of_use_is_told_so() {
    let world = World::new(&[1]).await;
    let _running = world.start("wait running");
    world.stage.until_begun(1).await;
    let deadline = Some(Instant::now() + Duration::from_secs(5));
    let late = world.start_with(Job::new("x"), RunOptions { deadline, ..of("a") });
    until(|| world.gateway.beat().waiting == 1).await;
    world.pass(Duration::from_secs(6)).await;
    let late = failure(late).await;
    assert!(matches!(late, RunError::Fleet(FleetError::Full { .. })), "{late:?}");
    assert_eq!(world.stage.begun("x"), 0);
}

#[tokio::test]
async fn without_a_node_it_says_that_none_can_be_reached() {
    let world = World::new(&[]).await;
    let run = world.start("x");
    until(|| world.gateway.beat().waiting == 1).await;
    world.pass(Duration::from_secs(11)).await;
    let error = failure(run).await;
    assert!(matches!(error, RunError::Fleet(FleetError::Unreachable { .. })), "{error:?}");
}

#[tokio::test]
async fn a_node_that_joins_takes_who_waits() {
    let mut world = World::new(&[]).await;
    let run = world.start("x");
    until(|| world.gateway.beat().waiting == 1).await;
    world.join(1, None).await;
    result(run).await;
}

#[tokio::test]
async fn a_node_without_memory_for_it_refuses() {
    let mut world = World::new(&[]).await;
    let load = Load { memory_bytes: 90, memory_budget_bytes: 100, ..Load::default() };
    world.join(4, Some(load)).await;
    let first = world.start("wait alone");
    world.stage.until_begun(1).await;
    // Alone it was taken; beside another it has to fit.
    let second = world.start("x");
    until(|| world.gateway.beat().busy > 0).await;
    assert_eq!(world.stage.begun("x"), 0);
    world.stage.go.notify_waiters();
    result(first).await;
    result(second).await;
}

#[tokio::test]
async fn a_node_that_drains_finishes_and_takes_nothing_new() {
    let mut world = World::new(&[4]).await;
    let run = world.start("wait drained");
    world.stage.until_begun(1).await;
    let node = world.nodes.remove(0);
    let drained = tokio::spawn(async move {
        node.worker.drain().await;
        node
    });
    until(|| world.gateway.beat().nodes == 0).await;
    let waits = world.start("elsewhere");
    until(|| world.gateway.beat().waiting == 1).await;
    assert!(!drained.is_finished());
    world.stage.go.notify_waiters();
    result(run).await;
    drained.await.expect("no panic");
    world.join(1, None).await;
    result(waits).await;
    assert_eq!(world.gateway.beat().lost, 0);
}

#[tokio::test]
async fn what_is_larger_than_a_message_comes_in_pieces_and_what_is_too_large_is_refused() {
    let world = World::new(&[1]).await;
    let large = "x".repeat(2 << 20);
    assert_eq!(world.run(&large).await.len(), large.len() + 2);
    let error = failure(world.start(&"x".repeat(65 << 20))).await;
    assert!(matches!(error, RunError::Fleet(FleetError::TooLarge { .. })), "{error:?}");
}
