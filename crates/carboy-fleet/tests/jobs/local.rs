//! Durable jobs on the queue of one process: a worker may die between any two steps, and each job has one result.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use carboy_fleet::jobs::{
    Claim, Ended, Ending, Failed, JobQueue, Listed, LocalBounds, LocalJobs, MAX_DELIVERIES, Notice,
    Order, Published, QueueError, Stored, Ticket, Worker, work,
};
use carboy_protocol::Job;
use tokio::sync::{Notify, watch};

use crate::harness::{Scripted, Working, ended, submit, text, ticket};

#[tokio::test(flavor = "multi_thread")]
async fn every_job_of_every_tenant_has_its_own_result() {
    let queue = Arc::new(LocalJobs::default());
    let runner = Arc::new(Scripted::default());
    let workers = [Working::start(&queue, &runner, 3), Working::start(&queue, &runner, 1)];
    let mut tickets = vec![];
    for number in 0..200 {
        let tenant = ["a", "b", "c"][number % 3];
        tickets.push((submit(&*queue, tenant, &number.to_string()).await, number));
    }
    for (ticket, number) in &tickets {
        assert_eq!(text(&ended(&*queue, ticket).await), format!("\"{number}\""));
    }
    for worker in workers {
        worker.end().await;
    }
    assert_eq!((queue.left(), runner.runs.load(Ordering::SeqCst)), (0, 200));
}

/// A queue whose worker dies at one step: it says so, and nothing comes after that.
struct Deadly {
    queue: Arc<LocalJobs>,
    step: &'static str,
    died: Notify,
    /// Lets a claim go on that stopped at "held".
    go_on: Notify,
}

impl Deadly {
    fn new(queue: &Arc<LocalJobs>, step: &'static str) -> Arc<Deadly> {
        let (died, go_on) = (Notify::new(), Notify::new());
        Arc::new(Deadly { queue: queue.clone(), step, died, go_on })
    }

    async fn at(&self, step: &'static str) {
        if step == self.step {
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
    }
}

impl JobQueue for Deadly {
    type Lease = u64;

    async fn publish(&self, ticket: Ticket, job: Job) -> Result<Published, QueueError> {
        self.queue.publish(ticket, job).await
    }
    async fn claim(&self, most: usize) -> Result<Vec<Claim<u64>>, QueueError> {
        let claims = self.queue.claim(most).await?;
        if !claims.is_empty() {
            self.at("claimed").await;
            if self.step == "held" {
                self.died.notify_one();
                self.go_on.notified().await;
            }
        }
        Ok(claims)
    }
    async fn extend(&self, lease: &u64) -> Result<(), QueueError> {
        self.queue.extend(lease).await
    }
    async fn store(&self, order: &Order, ended: &Ended) -> Result<Stored, QueueError> {
        self.at("ran").await;
        let stored = self.queue.store(order, ended).await?;
        self.at("stored").await;
        Ok(stored)
    }
    async fn bury(&self, order: &Order) -> Result<(), QueueError> {
        self.queue.bury(order).await
    }
    async fn done(&self, lease: u64) -> Result<(), QueueError> {
        self.at("told").await;
        self.queue.done(lease).await?;
        self.at("done").await;
        Ok(())
    }
    async fn release(&self, lease: u64, after: Duration) -> Result<(), QueueError> {
        self.queue.release(lease, after).await
    }
    async fn is_cancelled(&self, order: &Order) -> Result<bool, QueueError> {
        self.at("begun").await;
        if self.step == "marked" {
            return Ok(true);
        }
        self.queue.is_cancelled(order).await
    }
    async fn cancelling(&self, order: &Order) {
        self.queue.cancelling(order).await;
    }
    async fn ticket(&self, tenant: &str, id: &str) -> Result<Option<Ticket>, QueueError> {
        self.queue.ticket(tenant, id).await
    }
    async fn result(&self, ticket: &Ticket) -> Result<Option<Ended>, QueueError> {
        self.queue.result(ticket).await
    }
    async fn ending(&self, ticket: &Ticket) {
        self.queue.ending(ticket).await;
    }
    async fn cancel(&self, ticket: &Ticket) -> Result<Stored, QueueError> {
        self.queue.cancel(ticket).await
    }
    async fn list(&self, tenant: &str, most: usize) -> Result<Vec<Listed>, QueueError> {
        self.queue.list(tenant, most).await
    }
    async fn notices(&self, most: usize) -> Result<Vec<Notice<u64>>, QueueError> {
        self.queue.notices(most).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_between_two_steps_costs_no_result_and_makes_none_twice() {
    for (step, runs) in
        [("claimed", 1), ("begun", 1), ("ran", 2), ("stored", 2), ("told", 2), ("done", 1)]
    {
        let queue = Arc::new(LocalJobs::default());
        let deadly = Deadly::new(&queue, step);
        let runner = Arc::new(Scripted::default());
        let ticket = submit(&*queue, "a", "x").await;
        let first = Working::start(&deadly, &runner, 1);
        deadly.died.notified().await;
        first.kill().await;
        let before = queue.result(&ticket).await.expect("it answers").map(|ended| ended.ended_ms);
        queue.end_leases();
        let second = Working::start(&queue, &runner, 1);
        let result = ended(&*queue, &ticket).await;
        // Whatever came again is taken off the queue too.
        while queue.left() > 0 {
            tokio::task::yield_now().await;
        }
        second.end().await;
        let after = ended(&*queue, &ticket).await;
        assert_eq!(text(&result), "\"x\"", "{step}");
        assert!(before.is_none_or(|before| before == after.ended_ms), "{step}");
        assert_eq!(runner.runs.load(Ordering::SeqCst), runs, "{step}");
        assert!(queue.dead_letters().is_empty(), "{step}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ends_its_workers_ends_in_the_dead_letters() {
    let queue = Arc::new(LocalJobs::default());
    let runner = Arc::new(Scripted::default());
    let poison = submit(&*queue, "a", "wait").await;
    let other = submit(&*queue, "b", "x").await;
    for _ in 0..MAX_DELIVERIES {
        let before = runner.waits.load(Ordering::SeqCst);
        let worker = Working::start(&queue, &runner, 2);
        // The other job is not hurt by its neighbour's fate once it is over.
        while runner.waits.load(Ordering::SeqCst) == before || queue.left() > 1 {
            tokio::task::yield_now().await;
        }
        worker.kill().await;
        queue.end_leases();
    }
    let last = Working::start(&queue, &runner, 1);
    let Ending::Failed(Failed { code, .. }) = ended(&*queue, &poison).await.ending else {
        panic!("it has a result")
    };
    last.end().await;
    assert_eq!(runner.waits.load(Ordering::SeqCst), MAX_DELIVERIES as usize);
    assert_eq!(code, "gave_up");
    let dead: Vec<_> = queue.dead_letters().iter().map(|order| order.id.clone()).collect();
    assert_eq!((dead, queue.left()), (vec![poison.id.clone()], 0));
    assert_eq!(text(&ended(&*queue, &other).await), "\"x\"");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_late_result_loses() {
    let queue = LocalJobs::default();
    let ticket = submit(&queue, "a", "x").await;
    let slow = queue.claim(1).await.expect("an order").remove(0);
    queue.end_leases();
    let fast = queue.claim(1).await.expect("an order").remove(0);
    assert_eq!((slow.delivery, fast.delivery), (1, 2));
    let said = |code: &str| {
        let failed = Failed { code: code.into(), detail: String::new(), hint: None };
        fast.order.ended(Ending::Failed(failed))
    };
    let stored = queue.store(&fast.order, &said("fast")).await;
    assert!(matches!(stored, Ok(Stored::First)), "{stored:?}");
    let stored = queue.store(&slow.order, &said("slow")).await;
    assert!(matches!(stored, Ok(Stored::Late)), "{stored:?}");
    // A lease that is over does nothing.
    queue.done(slow.lease).await.expect("it answers");
    assert_eq!(queue.left(), 1);
    queue.done(fast.lease).await.expect("it answers");
    assert_eq!(queue.left(), 0);
    assert!(text(&ended(&queue, &ticket).await).contains("fast"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_without_the_token_counts_for_nothing() {
    let queue = LocalJobs::default();
    let ticket = submit(&queue, "a", "x").await;
    let claim = queue.claim(1).await.expect("an order").remove(0);
    let forged = Ended { token: "0".repeat(32), ..claim.order.ended(Ending::Cancelled) };
    assert!(!ticket.takes(&forged));
    assert!(matches!(queue.store(&claim.order, &forged).await, Ok(Stored::Late)));
    assert!(queue.result(&ticket).await.expect("it answers").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_ended_by_its_caller_before_and_while_it_runs() {
    let queue = Arc::new(LocalJobs::default());
    let runner = Arc::new(Scripted::default());
    let waits = submit(&*queue, "a", "x").await;
    assert!(matches!(queue.cancel(&waits).await, Ok(Stored::First)));
    let worker = Working::start(&queue, &runner, 1);
    let runs = submit(&*queue, "a", "until cancelled").await;
    runner.begun.notified().await;
    // The worker listens from some moment on.
    while queue.left() > 0 {
        queue.cancel(&runs).await.expect("it answers");
        tokio::task::yield_now().await;
    }
    worker.end().await;
    for ticket in [&waits, &runs] {
        assert!(matches!(ended(&*queue, ticket).await.ending, Ending::Cancelled));
    }
    assert_eq!(runner.runs.load(Ordering::SeqCst), 1);
    assert!(matches!(queue.cancel(&waits).await, Ok(Stored::Late)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_finishes_or_gives_back() {
    let queue = Arc::new(LocalJobs::default());
    let runner = Arc::new(Scripted::default());
    let finishes = submit(&*queue, "a", "wait").await;
    let worker = Working::start(&queue, &runner, 1);
    runner.begun.notified().await;
    worker.ending.send_replace(true);
    runner.go_on.notify_one();
    worker.end().await;
    assert_eq!(text(&ended(&*queue, &finishes).await), "\"wait\"");

    let given_back = submit(&*queue, "a", "until cancelled").await;
    let (ending, told) = watch::channel(false);
    let worker = Worker { slots: 1, grace: Duration::ZERO };
    let task = tokio::spawn(work(queue.clone(), runner.clone(), worker, told));
    runner.begun.notified().await;
    ending.send_replace(true);
    task.await.expect("it ends");
    // Nobody waited for a lease to be over.
    let claim = queue.claim(1).await.expect("an order").remove(0);
    assert_eq!((claim.order.id, claim.delivery), (given_back.id, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_claimed_while_a_worker_ends_is_given_back() {
    let queue = Arc::new(LocalJobs::default());
    let held = Deadly::new(&queue, "held");
    let runner = Arc::new(Scripted::default());
    let ticket = submit(&*queue, "a", "x").await;
    let worker = Working::start(&held, &runner, 1);
    held.died.notified().await;
    worker.ending.send_replace(true);
    held.go_on.notify_one();
    worker.end().await;
    // It ran or was given back: nobody waits for a lease to be over.
    let claims = queue.claim(1).await.expect("an answer");
    let has_ended = queue.result(&ticket).await.expect("an answer").is_some();
    assert_eq!(claims.is_empty(), has_ended, "{claims:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_somebody_made_up_leaves_a_result() {
    let queue = Arc::new(LocalJobs::default());
    let marked = Deadly::new(&queue, "marked");
    let runner = Arc::new(Scripted::default());
    let ticket = submit(&*queue, "a", "x").await;
    let worker = Working::start(&marked, &runner, 1);
    assert!(matches!(ended(&*queue, &ticket).await.ending, Ending::Cancelled));
    worker.end().await;
    assert_eq!((queue.left(), runner.runs.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_engine_ended_is_not_taken_for_cancelled() {
    let queue = Arc::new(LocalJobs::default());
    let runner = Arc::new(Scripted::default());
    let ticket = submit(&*queue, "a", "engine ends").await;
    let worker = Working::start(&queue, &runner, 1);
    while runner.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    worker.end().await;
    assert!(queue.result(&ticket).await.expect("an answer").is_none());
    assert_eq!(queue.left(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn older_results_make_room_for_a_new_one() {
    let queue = LocalJobs::new(LocalBounds { bytes: 20_000, ..LocalBounds::default() });
    let mut tickets = vec![];
    for _ in 0..4 {
        tickets.push(submit(&queue, "a", "x").await);
    }
    for claim in queue.claim(4).await.expect("orders") {
        let outcome = serde_json::value::to_raw_value(&"x".repeat(8_000)).expect("JSON");
        let ended = claim.order.ended(Ending::Outcome(outcome));
        assert!(matches!(queue.store(&claim.order, &ended).await, Ok(Stored::First)));
    }
    let mut kept = vec![];
    for ticket in &tickets {
        kept.push(queue.result(ticket).await.expect("an answer").is_some());
    }
    assert_eq!(kept, [false, false, true, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_request_is_one_job_and_a_tenant_has_so_many() {
    let queue = LocalJobs::new(LocalBounds { jobs: 2, ..LocalBounds::default() });
    let first = submit(&queue, "a", "x").await;
    let again = queue.publish(first.clone(), Job::new("x")).await;
    assert!(matches!(again, Ok(Published::Again)), "{again:?}");
    let other = Ticket { digest: "another".into(), ..first };
    let taken = queue.publish(other, Job::new("y")).await;
    assert!(matches!(taken, Err(QueueError::Taken)), "{taken:?}");
    submit(&queue, "a", "x").await;
    let full = queue.publish(ticket("a"), Job::new("x")).await;
    assert!(matches!(full, Err(QueueError::Full)), "{full:?}");
    submit(&queue, "b", "x").await;
    let long = queue.publish(ticket("b"), Job::new("x".repeat(2 << 20))).await;
    assert!(matches!(long, Err(QueueError::TooLong { .. })), "{long:?}");
    assert_eq!(queue.list("a", 10).await.expect("it answers").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn tenants_are_served_in_turn() {
    let queue = LocalJobs::default();
    for _ in 0..5 {
        submit(&queue, "many", "x").await;
    }
    submit(&queue, "one", "x").await;
    let claims = queue.claim(2).await.expect("orders");
    let mut tenants: Vec<_> = claims.iter().map(|claim| claim.order.tenant.as_str()).collect();
    tenants.sort_unstable();
    assert_eq!(tenants, ["many", "one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_cannot_run_says_why_and_its_webhook_is_told_once() {
    let queue = Arc::new(LocalJobs::default());
    let runner = Arc::new(Scripted::default());
    let webhook = Some("http://example.com/".to_owned());
    let ticket = Ticket { webhook, ..ticket("a") };
    queue.publish(ticket.clone(), Job::new("wrong")).await.expect("accepted");
    let worker = Working::start(&queue, &runner, 1);
    let Ending::Failed(failed) = ended(&*queue, &ticket).await.ending else {
        panic!("it has an outcome")
    };
    assert_eq!(failed.code, "request");
    let told = Mutex::new(vec![]);
    let notice = queue.notices(8).await.expect("a notice").remove(0);
    told.lock().expect("a list").push((notice.id.clone(), notice.attempt));
    queue.release(notice.lease, Duration::ZERO).await.expect("it answers");
    let notice = queue.notices(8).await.expect("a notice").remove(0);
    told.lock().expect("a list").push((notice.id.clone(), notice.attempt));
    queue.done(notice.lease).await.expect("it answers");
    assert_eq!(*told.lock().expect("a list"), [(ticket.id.clone(), 1), (ticket.id, 2)]);
    worker.end().await;
    queue.end_leases();
    assert!(queue.notices(8).await.expect("an answer").is_empty());
}
