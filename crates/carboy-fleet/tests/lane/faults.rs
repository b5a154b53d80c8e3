//! Nodes that die, freeze or are cut off, and messages that are lost.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use carboy_engine::{FleetError, RunError};
use carboy_fleet::message::{RunAsk, Said, Say, VERSION, read, written};
use carboy_fleet::name::Verb;
use carboy_fleet::{Bus, Fate, Random};
use carboy_protocol::{ArtifactWish, Job};

use crate::world::{World, doubling, failure, listening, result, settle, until};

/// The place of the node that has the only run.
fn busy(world: &World) -> usize {
    world.nodes.iter().position(|node| node.worker.hint().free == 0).expect("a node has it")
}

#[tokio::test]
async fn a_run_whose_node_dies_is_run_again_on_another() {
    let mut world = World::new(&[1, 1]).await;
    let run = world.start("wait again");
    world.stage.until_begun(1).await;
    let place = busy(&world);
    world.nodes.remove(place).kill();
    // It is asked how the run stands, and nobody is there.
    world.pass(Duration::from_millis(250)).await;
    world.stage.until_begun(2).await;
    world.stage.go.notify_waiters();
    assert_eq!(result(run).await, "\"wait again\"");
    assert_eq!((world.gateway.beat().again, world.gateway.beat().lost), (1, 0));
}

#[tokio::test]
async fn a_run_with_tools_or_output_that_was_heard_is_not_run_again() {
    let mut world = World::new(&[1, 1]).await;
    let (mut job, options) = doubling();
    job.code = "wait tools".into();
    let run = world.start_with(job, options);
    world.stage.until_begun(1).await;
    let place = busy(&world);
    world.nodes.remove(place).kill();
    world.pass(Duration::from_millis(250)).await;
    let error = failure(run).await;
    assert!(matches!(error, RunError::Fleet(FleetError::WorkerLost)), "{error:?}");

    let (options, mut printed, _begun) = listening();
    let run = world.start_with(Job::new("print 5000 1000"), options);
    printed.recv().await.expect("output");
    let place = busy(&world);
    world.nodes.remove(place).kill();
    tokio::spawn(async move { while printed.recv().await.is_some() {} });
    world.pass(Duration::from_millis(500)).await;
    let error = failure(run).await;
    assert!(matches!(error, RunError::Fleet(FleetError::WorkerLost)), "{error:?}");
    assert_eq!((world.stage.all(), world.gateway.beat().lost), (2, 2));
}

#[tokio::test]
async fn a_run_that_was_lost_twice_is_not_tried_a_third_time() {
    let mut world = World::new(&[1, 1, 1]).await;
    let run = world.start("wait poison");
    for times in 1..=2 {
        world.stage.until_begun(times).await;
        let place = busy(&world);
        world.nodes.remove(place).kill();
        world.pass(Duration::from_millis(250)).await;
    }
    let error = failure(run).await;
    assert!(matches!(error, RunError::Fleet(FleetError::Poison { times: 2 })), "{error:?}");
    assert_eq!(world.run("honest").await, "\"honest\"");
}

#[tokio::test]
async fn retries_end_with_their_budget() {
    let mut world = World::new(&[]).await;
    let mut again = 0;
    for round in 0..101 {
        world.join(1, None).await;
        let run = world.start(&format!("wait {round}"));
        world.stage.until_begun(round + 1 + again).await;
        world.nodes.pop().expect("the node").kill();
        world.join(1, None).await;
        world.pass(Duration::from_millis(250)).await;
        if round < 100 {
            again += 1;
            world.stage.until_begun(round + 1 + again).await;
            // One that came to its end would put something back.
            run.abort();
            world.stage.until_dropped(&format!("wait {round}")).await;
        } else {
            let error = failure(run).await;
            assert!(matches!(error, RunError::Fleet(FleetError::WorkerLost)), "{error:?}");
        }
        world.nodes.pop().expect("the node").kill();
    }
    assert_eq!(world.gateway.beat().again, 100);
}

#[tokio::test]
async fn a_node_that_freezes_is_left_after_its_heartbeats_stop() {
    let mut world = World::new(&[1, 1]).await;
    let run = world.start("wait frozen");
    world.stage.until_begun(1).await;
    let place = busy(&world);
    let frozen = world.nodes.remove(place);
    frozen.bus.cut();
    world.pass(Duration::from_millis(1100)).await;
    assert_eq!(world.stage.all(), 1, "it may only be slow");
    world.pass(Duration::from_millis(300)).await;
    world.stage.until_begun(2).await;
    world.stage.go.notify_waiters();
    result(run).await;
}

#[tokio::test]
async fn a_reply_that_was_lost_is_replayed_and_nothing_runs_twice() {
    let world = World::new(&[1]).await;
    let lost = Arc::new(AtomicU32::new(0));
    let count = lost.clone();
    world.bus.set_fault(move |message| {
        let is_reply = message.subject.starts_with("_INBOX_g");
        let is_first = is_reply && count.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first { Fate::Lost } else { Fate::Arrive }
    });
    let run = world.start("once");
    world.stage.until_begun(1).await;
    settle().await;
    assert!(!run.is_finished());
    world.pass(Duration::from_millis(250)).await;
    assert_eq!(result(run).await, "\"once\"");
    assert_eq!(world.stage.begun("once"), 1);
}

#[tokio::test]
async fn a_request_that_was_lost_is_sent_again() {
    let world = World::new(&[1]).await;
    let count = AtomicU32::new(0);
    world.bus.set_fault(move |message| {
        let is_run = message.subject.ends_with(".run");
        let is_first = is_run && count.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first { Fate::Lost } else { Fate::Arrive }
    });
    let run = world.start("once");
    settle().await;
    assert_eq!(world.stage.all(), 0);
    world.pass(Duration::from_millis(250)).await;
    assert_eq!(result(run).await, "\"once\"");
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn a_piece_of_a_request_that_was_lost_is_sent_again() {
    let world = World::new(&[1]).await;
    let count = AtomicU32::new(0);
    world.bus.set_fault(move |message| {
        let is_piece = message.subject.ends_with(".run") && message.reply.is_none();
        let is_second = is_piece && count.fetch_add(1, Ordering::Relaxed) == 1;
        if is_second { Fate::Lost } else { Fate::Arrive }
    });
    let run = world.start(&"x".repeat(1 << 20));
    settle().await;
    assert_eq!(world.stage.all(), 0);
    world.pass(Duration::from_millis(350)).await;
    assert_eq!(result(run).await.len(), (1 << 20) + 2);
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn one_message_of_five_is_lost_and_output_and_calls_are_whole() {
    let world = World::new(&[1]).await;
    let random = Mutex::new(Random::new(5));
    world.bus.set_fault(move |message| {
        let is_beat = message.subject.starts_with("cb.hb") || message.subject.starts_with("cb.ghb");
        let is_lost = !is_beat && random.lock().expect("whole").below(5) == 0;
        if is_lost { Fate::Lost } else { Fate::Arrive }
    });
    let (options, mut printed, _begun) = listening();
    let run = world.start_with(Job::new("print 300 1000"), options);
    let all = tokio::spawn(async move {
        let mut bytes = 0;
        while let Some(chunk) = printed.recv().await {
            bytes += chunk.bytes.len();
        }
        bytes
    });
    while !run.is_finished() {
        world.pass(Duration::from_millis(50)).await;
    }
    let bytes = all.await.expect("no panic");
    result(run).await;
    assert_eq!(bytes, 300_000);
    let (job, options) = doubling();
    let run = world.start_with(job, options);
    while !run.is_finished() {
        world.pass(Duration::from_millis(50)).await;
    }
    assert_eq!(result(run).await, "6");
    assert_eq!(world.stage.all(), 2);
}

#[tokio::test]
async fn a_gateway_that_is_cut_off_loses_nothing_when_it_is_back() {
    let world = World::new(&[1]).await;
    let run = world.start("wait cut");
    world.stage.until_begun(1).await;
    world.bus.cut();
    // Shorter than nodes wait for a gateway.
    world.pass(Duration::from_millis(2500)).await;
    world.stage.go.notify_waiters();
    settle().await;
    world.bus.mend();
    world.pass(Duration::from_millis(2500)).await;
    assert_eq!(result(run).await, "\"wait cut\"");
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn who_stood_still_does_not_take_others_for_silent() {
    let world = World::new(&[1]).await;
    let run = world.start("wait still");
    world.stage.until_begun(1).await;
    // Nobody did anything for as long as this.
    world.clock.pass(Duration::from_secs(10));
    world.gateway.tick().await;
    world.nodes[0].worker.tick().await;
    settle().await;
    world.pass(Duration::from_millis(500)).await;
    assert_eq!(world.nodes[0].worker.hint().free, 0);
    world.stage.go.notify_waiters();
    result(run).await;
    assert_eq!(world.stage.all(), 1);
}

#[tokio::test]
async fn runs_of_a_gateway_that_died_are_ended() {
    let world = World::new(&[1]).await;
    let _run = world.start("wait orphan");
    world.stage.until_begun(1).await;
    world.bus.end();
    world.pass(Duration::from_millis(2900)).await;
    assert_eq!(world.nodes[0].worker.hint().free, 0);
    world.pass(Duration::from_millis(500)).await;
    world.stage.until_dropped("wait orphan").await;
    until(|| world.nodes[0].worker.hint().free == 1).await;
}

#[tokio::test]
async fn the_same_run_from_somebody_else_is_replayed_for_a_minute() {
    let world = World::new(&[2]).await;
    let client = world.bus.connect("_INBOX_g.two");
    let mut replies = client.subscribe("_INBOX_g.two.>".into()).await.expect("subscribed");
    let ask = RunAsk {
        v: VERSION,
        run: "0".repeat(32),
        gateway: "two".into(),
        tenant: String::new(),
        ttl_ms: None,
        stream: false,
        begun: false,
        tools: false,
        artifacts: ArtifactWish::None,
        files: None,
        memory_bytes: 0,
        pieces: 0,
        session: None,
    };
    let subject = world.nodes[0].address.subject(Verb::Run);
    let send = |reply: &'static str| {
        let job = serde_json::to_vec(&Job::new("kept")).expect("JSON");
        client.publish(subject.clone(), Some(reply.into()), written(&ask, &job))
    };
    send("_INBOX_g.two.1").await.expect("sent");
    let first = replies.next().await.expect("an outcome");
    send("_INBOX_g.two.2").await.expect("sent");
    let (running, again) = (replies.next().await.expect("a word"), replies.next().await);
    assert_eq!(running.subject, "_INBOX_g.two.2");
    let body =
        |payload: &Bytes| payload.iter().skip_while(|&&byte| byte != b'\n').copied().collect();
    let [one, two]: [Vec<u8>; 2] = [body(&first.payload), body(&again.expect("it").payload)];
    assert!(one == two && !one.is_empty());
    assert_eq!(world.stage.all(), 1);
    world.pass(Duration::from_secs(61)).await;
    send("_INBOX_g.two.3").await.expect("sent");
    world.stage.until_begun(2).await;
}

#[tokio::test]
async fn a_node_leaves_after_its_last_word_was_taken() {
    let world = World::new(&[1]).await;
    let run = world.start("wait last");
    world.stage.until_begun(1).await;
    let is_lost = Arc::new(AtomicU32::new(0));
    let count = is_lost.clone();
    world.bus.set_fault(move |message| {
        let is_reply = message.subject.starts_with("_INBOX_g");
        let is_first = is_reply && count.fetch_add(1, Ordering::Relaxed) == 0;
        if is_first { Fate::Lost } else { Fate::Arrive }
    });
    let has_left = std::cell::Cell::new(false);
    let leave = async {
        world.nodes[0].worker.drain().await;
        has_left.set(true);
    };
    let follow = async {
        settle().await;
        world.stage.go.notify_waiters();
        until(|| is_lost.load(Ordering::Relaxed) > 0).await;
        settle().await;
        assert!(!has_left.get(), "its only word was lost");
        world.pass(Duration::from_millis(250)).await;
        assert_eq!(result(run).await, "\"wait last\"");
    };
    tokio::join!(leave, follow);
}

#[tokio::test]
async fn a_run_whose_cancellation_was_lost_does_not_keep_its_place() {
    let world = World::new(&[2]).await;
    world.bus.set_fault(
        |message| {
            if message.subject.ends_with(".say") { Fate::Lost } else { Fate::Arrive }
        },
    );
    let mut waits = Job::new("wait for ever");
    waits.policy.limits.wall_ms = 1000;
    let mut prints = Job::new("print 1000 1000");
    prints.policy.limits.wall_ms = 1000;
    let (options, _printed, _begun) = listening();
    let runs = [
        world.start_with(waits, carboy_engine::RunOptions::default()),
        world.start_with(prints, options),
    ];
    world.stage.until_begun(2).await;
    settle().await;
    runs.iter().for_each(tokio::task::JoinHandle::abort);
    world.pass(Duration::from_secs(55)).await;
    assert_eq!(world.nodes[0].worker.hint().free, 0);
    world.pass(Duration::from_secs(15)).await;
    until(|| world.nodes[0].worker.hint().free == 2).await;
}

#[tokio::test]
async fn a_word_of_another_attempt_is_not_taken() {
    let world = World::new(&[1]).await;
    let said = Arc::new(Mutex::new(Vec::new()));
    let heard = said.clone();
    world.bus.set_fault(move |message| {
        if message.subject.ends_with(".run") {
            heard.lock().expect("whole").push(message.payload.clone());
        }
        Fate::Arrive
    });
    let run = world.start("wait attempt");
    world.stage.until_begun(1).await;
    let payload = said.lock().expect("whole").first().cloned().expect("it was sent");
    let (ask, _) = read::<RunAsk>(&payload).expect("it");
    let attempt = "_INBOX_g.one.aaaaaaaaaaaaa".into();
    let say = written(&Say { run: ask.run, attempt, what: Said::Cancel {} }, &[]);
    let subject = world.nodes[0].address.subject(Verb::Say);
    world.bus.publish(subject, None, say).await.expect("sent");
    settle().await;
    world.stage.go.notify_waiters();
    assert_eq!(result(run).await, "\"wait attempt\"");
}
