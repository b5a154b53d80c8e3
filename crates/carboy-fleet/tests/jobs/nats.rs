//! Durable jobs on a real broker.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use carboy_fleet::jobs::{
    Ended, Ending, Failed, JobQueue, MAX_DELIVERIES, NatsJobs, NatsJobsOptions, Published,
    QueueError, Stored, StreamBounds, Ticket,
};
use carboy_fleet::{NatsBus, NatsOptions};
use carboy_protocol::Job;
use tokio::task::JoinHandle;

use crate::broker::{self, Broker};
use crate::harness::{Scripted, Working, ended, submit, text, ticket};

/// A broker with JetStream, and the folder in which it keeps everything.
fn broker(name: &str, program: &Path) -> (Broker, PathBuf) {
    let folder = broker::folder(name);
    let store = folder.join("store");
    let conf = format!("jetstream {{ store_dir: {store:?}, max_file: 1GB }}\n");
    std::fs::write(folder.join("nats.conf"), conf).expect("a settings file");
    (Broker::start(program, &folder, folder.clone()), folder)
}

/// Small streams, and workers that are missed soon, but not because the machine is slow.
fn bounds() -> StreamBounds {
    StreamBounds { bytes: 64 << 20, lease: Some(Duration::from_secs(2)), ..StreamBounds::default() }
}

/// The same, where no order may come too often because the machine is slow.
fn patient() -> StreamBounds {
    StreamBounds { lease: Some(Duration::from_secs(5)), ..bounds() }
}

/// A gateway's or a worker's side of the queue.
pub struct Side {
    pub queue: Arc<NatsJobs>,
    attending: JoinHandle<()>,
}

impl Drop for Side {
    fn drop(&mut self) {
        self.attending.abort();
    }
}

async fn connected(place: &str, options: NatsJobsOptions) -> Arc<NatsJobs> {
    let url = format!("nats://{place}");
    let options_of_bus = NatsOptions { url, inbox: "_INBOX".into(), ..NatsOptions::default() };
    let bus = NatsBus::connect(&options_of_bus).await.expect("a connection");
    NatsJobs::new(bus.client().clone(), options, 7)
}

pub async fn gateway(place: &str, bounds: StreamBounds) -> Side {
    let options = NatsJobsOptions { gateway: "g".into(), bounds, ..NatsJobsOptions::default() };
    let queue = connected(place, options).await;
    while let Err(error) = queue.prepare().await {
        assert!(matches!(error, QueueError::Unavailable(_)), "{error}");
    }
    let attending = tokio::spawn(queue.clone().attend_gateway());
    Side { queue, attending }
}

pub async fn worker(place: &str, bounds: StreamBounds) -> Side {
    let options = NatsJobsOptions { bounds, ..NatsJobsOptions::default() };
    let queue = connected(place, options).await;
    let attending = tokio::spawn(queue.clone().attend_worker());
    Side { queue, attending }
}

#[tokio::test(flavor = "multi_thread")]
async fn t10_jobs_survive_workers_that_are_killed() {
    let Some(program) = broker::program() else { return };
    let (broker, _folder) = broker("t10", &program);
    let gateway = gateway(&broker.place, patient()).await;
    let runner = Arc::new(Scripted::default());
    let mut workers = vec![];
    for _ in 0..3 {
        let side = worker(&broker.place, patient()).await;
        workers.push((Working::start(&side.queue, &runner, 4), side));
    }
    let jobs = 300;
    let mut tickets = vec![];
    for number in 0..jobs {
        let tenant = ["a", "b", "c.d"][number % 3];
        tickets.push((submit(&*gateway.queue, tenant, &number.to_string()).await, number));
        if number == jobs / 3 || number == jobs / 2 {
            let (working, _side) = workers.pop().expect("a worker");
            working.kill().await;
        }
    }
    for (ticket, number) in &tickets {
        assert_eq!(text(&ended(&*gateway.queue, ticket).await), format!("\"{number}\""));
    }
    // Whatever the dead had comes to somebody and is taken off.
    while gateway.queue.left().await.map_or(true, |left| left > 0) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (working, _side) = workers.pop().expect("a worker");
    working.end().await;
    assert!(runner.runs.load(Ordering::SeqCst) >= jobs);
    let listed = gateway.queue.list("c.d", 1_000).await.expect("a list");
    assert_eq!(listed.len(), jobs / 3);
    assert!(listed.iter().all(|listed| listed.has_ended));
}

#[tokio::test(flavor = "multi_thread")]
async fn t12_the_result_of_a_worker_that_was_cut_off_is_late() {
    let Some(program) = broker::program() else { return };
    let (broker, _folder) = broker("t12", &program);
    let gateway = gateway(&broker.place, bounds()).await;
    let cut = worker(&broker.place, bounds()).await;
    let ticket = submit(&*gateway.queue, "a", "x").await;
    // Nobody hears of it again until another has the order.
    let slow = claimed(&cut).await;
    let other = worker(&broker.place, bounds()).await;
    let runner = Arc::new(Scripted::default());
    let working = Working::start(&other.queue, &runner, 1);
    assert_eq!(text(&ended(&*gateway.queue, &ticket).await), "\"x\"");
    working.end().await;
    let late = slow.order.ended(Ending::Cancelled);
    let stored = cut.queue.store(&slow.order, &late).await;
    assert!(matches!(stored, Ok(Stored::Late)), "{stored:?}");
    cut.queue.done(slow.lease).await.ok();
    assert_eq!(text(&ended(&*gateway.queue, &ticket).await), "\"x\"");
}

async fn claimed(side: &Side) -> carboy_fleet::jobs::Claim<<NatsJobs as JobQueue>::Lease> {
    loop {
        if let Some(claim) = side.queue.claim(1).await.ok().and_then(|mut claims| claims.pop()) {
            return claim;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t13_a_job_that_kills_its_workers_ends_in_the_dead_letters() {
    let Some(program) = broker::program() else { return };
    let (broker, _folder) = broker("t13", &program);
    let gateway = gateway(&broker.place, bounds()).await;
    let runner = Arc::new(Scripted::default());
    let poison = submit(&*gateway.queue, "a", "wait").await;
    let side = worker(&broker.place, bounds()).await;
    loop {
        let working = Working::start(&side.queue, &runner, 1);
        // On a slow machine a lease can be over before the run begins, and counts.
        let is_over = tokio::select! {
            () = runner.begun.notified() => false,
            _ended = ended(&*gateway.queue, &poison) => true,
        };
        working.kill().await;
        if is_over {
            break;
        }
    }
    let other = submit(&*gateway.queue, "a", "x").await;
    let working = Working::start(&side.queue, &runner, 1);
    let Ending::Failed(Failed { code, .. }) = ended(&*gateway.queue, &poison).await.ending else {
        panic!("it has an outcome")
    };
    assert_eq!(code, "gave_up");
    assert_eq!(text(&ended(&*gateway.queue, &other).await), "\"x\"");
    working.end().await;
    assert!((1..=MAX_DELIVERIES as usize).contains(&runner.waits.load(Ordering::SeqCst)));
    let dead = gateway.queue.dead_letters("a").await.expect("a list");
    assert_eq!(dead.iter().map(|order| &order.id).collect::<Vec<_>>(), [&poison.id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn t18_an_old_broker_is_refused_with_a_way_out() {
    let Some(program) = broker::old_program() else { return };
    let (broker, _folder) = broker("t18", &program);
    let options = NatsJobsOptions { bounds: bounds(), ..NatsJobsOptions::default() };
    let queue = connected(&broker.place, options.clone()).await;
    let refused = queue.publish(ticket("a"), Job::new("x")).await.expect_err("a refusal");
    assert!(refused.to_string().contains("need at least 2.11"), "{refused}");
    assert!(refused.hint().contains("--allow-old-broker"));
    assert!(matches!(queue.prepare().await, Err(QueueError::OldBroker { .. })));
    let queue =
        connected(&broker.place, NatsJobsOptions { allow_old_broker: true, ..options }).await;
    queue.prepare().await.expect("streams");
    let published = queue.publish(ticket("a"), Job::new("x")).await;
    assert!(matches!(published, Ok(Published::New)), "{published:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tenant_with_long_jobs_leaves_room_for_others() {
    let Some(program) = broker::program() else { return };
    let (broker, _folder) = broker("share", &program);
    let gateway = gateway(&broker.place, bounds()).await;
    let queue = &gateway.queue;
    // A tenant's share is 2 MiB here: two of these, and not three.
    let long = "x".repeat(900_000);
    submit(&**queue, "a", &long).await;
    submit(&**queue, "a", &long).await;
    let full = loop {
        match queue.publish(ticket("a"), Job::new(long.as_str())).await {
            Err(QueueError::Unavailable(_)) => {}
            other => break other,
        }
    };
    assert!(matches!(full, Err(QueueError::Full)), "{full:?}");
    submit(&**queue, "a", "x").await;
    submit(&**queue, "b", &long).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_store_is_not_told_as_a_full_tenant() {
    let Some(program) = broker::program() else { return };
    let (broker, _folder) = broker("full", &program);
    let gateway = gateway(&broker.place, StreamBounds { bytes: 1 << 20, ..bounds() }).await;
    let mut tenants = (0..200).map(|number| format!("t{number}"));
    let refused = loop {
        let tenant = tenants.next().expect("it is full before");
        match gateway.queue.publish(ticket(&tenant), Job::new("x".repeat(20_000))).await {
            Ok(_) | Err(QueueError::Unavailable(_)) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, QueueError::NoSpace), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_says_what_it_has_and_what_it_does_not_take() {
    let Some(program) = broker::program() else { return };
    let (broker, _folder) = broker("queue", &program);
    let bounds = StreamBounds { backlog: 2, ..bounds() };
    let gateway = gateway(&broker.place, bounds).await;
    let queue = &gateway.queue;
    // Two shards of two.
    let mut tickets = vec![];
    for _ in 0..4 {
        tickets.push(submit(&**queue, "a", "x").await);
    }
    let refused = ticket("a");
    let full = queue.publish(refused.clone(), Job::new("x")).await;
    assert!(matches!(full, Err(QueueError::Full)), "{full:?}");
    let gone = queue.ticket("a", &refused.id).await.expect("an answer");
    assert!(gone.is_none(), "what was not accepted is not listed");
    submit(&**queue, "b", "x").await;
    let again = queue.publish(tickets[0].clone(), Job::new("x")).await;
    assert!(matches!(again, Ok(Published::Again)), "{again:?}");
    let other = Ticket { digest: "another".into(), ..tickets[0].clone() };
    let taken = queue.publish(other, Job::new("y")).await;
    assert!(matches!(taken, Err(QueueError::Taken)), "{taken:?}");
    let long = queue.publish(ticket("b"), Job::new("x".repeat(2 << 20))).await;
    assert!(matches!(long, Err(QueueError::TooLong { .. })), "{long:?}");
    assert!(queue.ticket("b", &tickets[0].id).await.expect("an answer").is_none());
    assert_eq!(queue.list("a", 10).await.expect("a list").len(), 4);

    // What its caller ended is not run; what somebody made up is not believed.
    let runner = Arc::new(Scripted::default());
    assert!(matches!(queue.cancel(&tickets[0]).await, Ok(Stored::First)));
    let side = worker(&broker.place, bounds).await;
    let order = tickets[1].order(String::new(), Job::new("x"));
    let forged = Ended { token: "0".repeat(32), ..order.ended(Ending::Cancelled) };
    side.queue.store(&order, &forged).await.expect("an answer");
    let working = Working::start(&side.queue, &runner, 2);
    assert_eq!(text(&ended(&**queue, &tickets[3]).await), "\"x\"");
    assert_eq!(text(&ended(&**queue, &tickets[2]).await), "\"x\"");
    assert!(matches!(ended(&**queue, &tickets[0]).await.ending, Ending::Cancelled));
    assert!(text(&ended(&**queue, &tickets[1]).await).contains("untrusted_result"));

    // What runs hears that it is to end.
    let mut hooked = ticket("b");
    hooked.webhook = Some("http://example.com/".into());
    queue.publish(hooked.clone(), Job::new("until cancelled")).await.expect("accepted");
    let before = runner.cancels.load(Ordering::SeqCst);
    while runner.cancels.load(Ordering::SeqCst) == before {
        runner.begun.notified().await;
    }
    assert!(matches!(queue.cancel(&hooked).await, Ok(Stored::First)));
    working.end().await;
    assert!(matches!(ended(&**queue, &hooked).await.ending, Ending::Cancelled));
    let notice = loop {
        if let Some(notice) = queue.notices(8).await.expect("an answer").pop() {
            break notice;
        }
    };
    assert_eq!((notice.id, notice.attempt), (hooked.id, 1));
    queue.done(notice.lease).await.expect("an answer");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_has_the_newest_of_many() {
    let Some(program) = broker::program() else { return };
    let (broker, _folder) = broker("list", &program);
    let gateway = gateway(&broker.place, bounds()).await;
    let queue = &gateway.queue;
    assert!(queue.list("a", 10).await.expect("a list").is_empty());
    let mut few = vec![];
    for _ in 0..3 {
        few.push(submit(&**queue, "b", "x").await);
    }
    // More than are read for one list, so that it has to find from where on to read.
    let mut many = vec![];
    for _ in 0..1_500 {
        many.push(submit(&**queue, "a", "x").await);
    }
    let ended = &many[many.len() - 2];
    queue.cancel(ended).await.expect("it ends");
    let listed = queue.list("a", 50).await.expect("a list");
    assert_eq!(listed.len(), 50);
    let accepted: Vec<_> = listed.iter().map(|listed| listed.ticket.accepted_ms).collect();
    assert!(accepted.is_sorted_by(|newer, older| newer >= older), "{accepted:?}");
    // Several can be of one millisecond.
    assert!(accepted.iter().all(|&accepted| accepted >= many[many.len() - 50].accepted_ms));
    for row in &listed {
        assert_eq!(row.has_ended, row.ticket.id == ended.id);
    }
    let mut found: Vec<_> =
        queue.list("b", 50).await.expect("a list").into_iter().map(|row| row.ticket.id).collect();
    let mut expected: Vec<_> = few.iter().map(|ticket| ticket.id.clone()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_eq!(queue.list("a", 200).await.expect("a list").len(), 200);
}
