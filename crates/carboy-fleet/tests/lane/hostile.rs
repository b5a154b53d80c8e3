//! A node that was taken over says whatever it likes: its run fails, and nothing else.

use std::time::Duration;

use bytes::Bytes;
use carboy_engine::{FleetError, RunError, RunOptions};
use carboy_fleet::message::{Event, NodeBeat, RunAsk, VERSION, What, read, written};
use carboy_fleet::name::Verb;
use carboy_fleet::{Address, Bus, Hint, LocalBus, Subscription};
use carboy_protocol::{Job, Stream};

use crate::world::{World, doubling, failure, listening, outcome, result, settle, until};

const HINT: Hint = Hint { free: 1, total: 1, draining: false };

/// A node that does nothing by itself.
struct Puppet {
    bus: LocalBus,
    asked: Subscription,
    _statuses: Subscription,
    address: Address,
}

impl Puppet {
    async fn join(world: &World) -> Puppet {
        let address = Address { node: 99, incarnation: 99 };
        let bus = world.bus.connect("_INBOX_w.99");
        let asked = bus.subscribe(address.subject(Verb::Run)).await.expect("subscribed");
        let _statuses = bus.subscribe(address.subject(Verb::Status)).await.expect("subscribed");
        let puppet = Puppet { bus, asked, _statuses, address };
        puppet.beat().await;
        until(|| world.gateway.nodes() == 1).await;
        puppet
    }

    async fn beat(&self) {
        self.beat_as(self.address, HINT).await;
    }

    /// A heartbeat of this address, under the puppet's own subject.
    async fn beat_as(&self, address: Address, hint: Hint) {
        let beat = NodeBeat {
            v: VERSION,
            address,
            hint,
            version: String::new(),
            memory: None,
            sessions: 0,
            ended: 0,
            refused: 0,
            up_ms: 0,
        };
        let subject = self.address.heartbeat();
        self.bus.publish(subject, None, written(&beat, &[])).await.expect("sent");
    }

    async fn next(&mut self) -> (String, RunAsk) {
        let message = self.asked.next().await.expect("a run");
        let (ask, _) = read::<RunAsk>(&message.payload).expect("it");
        (message.reply.expect("a place to answer"), ask)
    }

    async fn say(&self, reply: &str, run: &str, what: What, body: &[u8]) {
        let event = Event { run: run.into(), hint: HINT, answers: 0, what };
        self.bus.publish(reply.into(), None, written(&event, body)).await.expect("sent");
    }
}

fn is_broken(error: &RunError) -> bool {
    matches!(error, RunError::Fleet(FleetError::Broken { .. }))
}

#[tokio::test]
async fn nonsense_is_not_an_outcome() {
    let world = World::new(&[]).await;
    let mut puppet = Puppet::join(&world).await;
    let other = serde_json::to_vec(&outcome("f00", &1.into())).expect("JSON");
    let deep = [b'['; 100_000];
    let cases: [(What, &[u8]); 6] = [
        (What::Outcome { number: 0 }, b"not JSON"),
        (What::Outcome { number: 0 }, &deep),
        (What::Outcome { number: 0 }, &other),
        (What::Failed { number: 0 }, b"{}"),
        (What::Call { number: 0 }, br#"{"call":1,"tool":"x","args":[],"kwargs":{}}"#),
        (What::Call { number: 0 }, b""),
    ];
    for (what, body) in cases {
        let run = world.start("x");
        let (reply, ask) = puppet.next().await;
        // What cannot be read at all is as if it were lost.
        for noise in [&b""[..], b"\n", b"{}\n", b"\xff\n", &deep] {
            let noise = Bytes::copy_from_slice(noise);
            puppet.bus.publish(reply.clone(), None, noise).await.expect("sent");
        }
        puppet.say(&reply, "another run", What::Outcome { number: 0 }, b"{}").await;
        puppet.say(&reply, &ask.run, what, body).await;
        let error = failure(run).await;
        assert!(is_broken(&error), "{error:?}");
    }
    // Replies to nobody, and to runs that are over.
    for place in
        ["_INBOX_g.one.", "_INBOX_g.one.x", "_INBOX_g.one.aaaaaaaaaaaaa", "_INBOX_g.one.a.b.c"]
    {
        puppet.say(place, "x", What::Busy {}, b"").await;
    }
    let run = world.start("x");
    let (reply, ask) = puppet.next().await;
    let honest = serde_json::to_vec(&outcome(&ask.run, &2.into())).expect("JSON");
    puppet.say(&reply, &ask.run, What::Outcome { number: 0 }, &honest).await;
    assert_eq!(result(run).await, "2");
}

#[tokio::test]
async fn a_flood_of_output_is_cut_off() {
    let world = World::new(&[]).await;
    let mut puppet = Puppet::join(&world).await;
    let (options, _printed, _begun) = listening();
    let run = world.start_with(Job::new("x"), options);
    let (reply, ask) = puppet.next().await;
    for number in 0..1000 {
        let what = What::Output { number, stream: Stream::Stdout };
        puppet.say(&reply, &ask.run, what, &[b'x'; 10_000]).await;
    }
    settle().await;
    // Nobody reads, so what came before it was cut off is still on its way.
    drop(_printed);
    assert!(is_broken(&failure(run).await));
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let world = World::new(&[]).await;
    let mut puppet = Puppet::join(&world).await;
    let run = world.start("x");
    let (reply, ask) = puppet.next().await;
    let piece = vec![b'x'; 1 << 19];
    for number in 0.. {
        puppet.say(&reply, &ask.run, What::Piece { number }, &piece).await;
        settle().await;
        if run.is_finished() {
            break;
        }
        assert!(number < 200, "more than any answer may have");
    }
    assert!(is_broken(&failure(run).await));
}

#[tokio::test]
async fn answers_without_end_in_many_runs_are_bounded_in_sum_and_harm_no_other_node() {
    let mut world = World::with(&[], |config| config.held_bytes = 8 << 20).await;
    let mut puppet = Puppet::join(&world).await;
    puppet.beat_as(puppet.address, Hint { free: 4, total: 4, draining: false }).await;
    settle().await;
    let mut runs = Vec::new();
    let mut asked = Vec::new();
    for number in 0..4 {
        let mut job = Job::new(format!("x {number}"));
        job.policy.limits.wall_ms = 1000;
        runs.push(world.start_with(job, RunOptions::default()));
        asked.push(puppet.next().await);
    }
    let piece = vec![b'x'; 1 << 19];
    // Four runs with four halves of a megabyte are all of it. The next piece costs the largest.
    for number in 0..4 {
        for (reply, ask) in &asked {
            puppet.say(reply, &ask.run, What::Piece { number }, &piece).await;
            settle().await;
        }
    }
    assert!(runs.iter().all(|run| !run.is_finished()), "it is all that may be held");
    let (reply, ask) = &asked[0];
    puppet.say(reply, &ask.run, What::Piece { number: 4 }, &piece).await;
    until(|| runs.iter().any(tokio::task::JoinHandle::is_finished)).await;
    settle().await;
    let over = runs.iter().position(tokio::task::JoinHandle::is_finished).expect("one");
    let error = failure(runs.remove(over)).await;
    assert!(matches!(error, RunError::Fleet(FleetError::WorkerLost)), "{error:?}");
    assert!(runs.iter().all(|run| !run.is_finished()), "there is room now");
    // What an honest node says finds room at the cost of the other, as long as it is less than half of all: the other has more.
    puppet.beat_as(puppet.address, Hint { free: 0, total: 4, draining: false }).await;
    settle().await;
    world.join(1, None).await;
    assert_eq!(world.run("large 3000000").await.len(), 3_000_002);
    until(|| runs.iter().any(tokio::task::JoinHandle::is_finished)).await;
}

#[tokio::test]
async fn a_node_that_takes_no_answers_is_cut_off() {
    let world = World::new(&[]).await;
    let mut puppet = Puppet::join(&world).await;
    let (job, options) = doubling();
    let run = world.start_with(job, options);
    let (reply, ask) = puppet.next().await;
    for number in 0.. {
        let call = format!(r#"{{"call":{number},"tool":"double","args":[1],"kwargs":{{}}}}"#);
        puppet.say(&reply, &ask.run, What::Call { number }, call.as_bytes()).await;
        settle().await;
        if run.is_finished() {
            break;
        }
        assert!(number < 1000, "more than any run has under way");
    }
    let error = failure(run).await;
    assert!(matches!(error, RunError::Fleet(FleetError::WorkerLost)), "{error:?}");
}

#[tokio::test]
async fn a_node_that_understands_nothing_is_left_alone_for_a_moment() {
    let mut world = World::new(&[]).await;
    let mut puppet = Puppet::join(&world).await;
    for run in ["", "its own"] {
        puppet.beat().await;
        settle().await;
        let waits = world.start("x");
        let (reply, ask) = puppet.next().await;
        let of = if run.is_empty() { "" } else { &ask.run };
        puppet.say(&reply, of, What::Misunderstood { v: 99 }, b"").await;
        until(|| world.gateway.beat().waiting == 1).await;
        assert_eq!(world.gateway.beat().nodes, 0, "it is not asked until it has said something");
        waits.abort();
        world.pass(Duration::from_millis(50)).await;
        assert_eq!(world.gateway.beat().waiting, 0, "who is gone takes no place");
    }
    world.join(1, None).await;
    assert_eq!(world.run("honest").await, "\"honest\"");
}

#[tokio::test]
async fn a_node_that_says_for_ever_that_it_runs_is_not_believed() {
    let world = World::new(&[]).await;
    let mut puppet = Puppet::join(&world).await;
    let mut job = Job::new("x");
    job.policy.limits.wall_ms = 1000;
    let run = world.start_with(job, RunOptions::default());
    let (reply, ask) = puppet.next().await;
    for _ in 0..200 {
        puppet.beat().await;
        puppet.say(&reply, &ask.run, What::Running { next: 0 }, b"").await;
        world.pass(Duration::from_millis(500)).await;
        if run.is_finished() {
            break;
        }
    }
    assert!(run.is_finished());
    assert!(is_broken(&failure(run).await));
}

#[tokio::test]
async fn a_node_speaks_for_no_other_and_once_for_itself() {
    let world = World::new(&[]).await;
    let puppet = Puppet::join(&world).await;
    for node in 0..90 {
        puppet.beat_as(Address { node, incarnation: 1 }, HINT).await;
    }
    for incarnation in 0..90 {
        puppet.beat_as(Address { incarnation, ..puppet.address }, HINT).await;
    }
    settle().await;
    assert_eq!(world.gateway.nodes(), 1);
    // What it says it has room for is not believed without end.
    puppet.beat_as(puppet.address, Hint { free: u32::MAX, total: u32::MAX, draining: false }).await;
    settle().await;
    assert_eq!(world.gateway.nodes(), 1);
}
