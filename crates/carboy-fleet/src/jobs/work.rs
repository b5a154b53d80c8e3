//! What a worker does with orders: claim as many as there are places, run each, store what came of it, then take it off
//! the queue.
//!
//! It may be killed between any two of these steps. Before the result is stored, another worker runs the order again;
//! after that, another finds that its own result is late.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use carboy_engine::{RunError, RunOptions, Runner};
use futures_util::poll;
use serde_json::value::to_raw_value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::{Claim, Ending, Failed, JobQueue, MAX_DELIVERIES, Order, QueueError};

/// The longest outcome that is stored.
const MAX_OUTCOME: usize = 768 << 10;

/// How long one waits before a queue that failed is asked again, at first and at most.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// How long another worker waits before it tries an order that failed here.
const AFTER_FAILURE: Duration = Duration::from_secs(2);

/// How long orders may take to be given back.
const GIVING_BACK: Duration = Duration::from_secs(3);

/// How a worker works.
#[derive(Clone, Copy, Debug)]
pub struct Worker {
    /// How many orders it runs at once.
    pub slots: usize,
    /// How long orders under way are waited for at the end. What still runs then is given back.
    pub grace: Duration,
}

/// Runs orders until it is told to end, by `true` or by nobody being left to tell.
pub async fn work<Q: JobQueue, R: Runner>(
    queue: Arc<Q>,
    runner: Arc<R>,
    worker: Worker,
    mut ending: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(worker.slots.max(1)));
    let (give_back, giving_back) = watch::channel(false);
    let mut under_way = JoinSet::new();
    let mut pause = PAUSE;
    let stuck = Arc::new(AtomicUsize::new(0));
    loop {
        while under_way.try_join_next().is_some() {}
        let mut free = vec![];
        tokio::select! {
            biased;
            _ = ending.wait_for(|ending| *ending) => break,
            // It is never closed.
            place = places.clone().acquire_owned() => free.extend(place.ok()),
        }
        while let Ok(place) = places.clone().try_acquire_owned() {
            free.push(place);
        }
        if stuck.load(Ordering::Relaxed) > 0 {
            // What would be run now has nowhere to put its result either.
            drop(free);
            timeout(LONGEST_PAUSE, ending.wait_for(|ending| *ending)).await.ok();
            continue;
        }
        let mut claiming = pin!(queue.claim(free.len()));
        let claims = tokio::select! {
            biased;
            _ = ending.wait_for(|ending| *ending) => None,
            claims = &mut claiming => Some(claims),
        };
        let Some(claims) = claims else {
            // What is on its way would be nobody's until its lease is over.
            if let Ok(Ok(claims)) = timeout(GIVING_BACK, claiming).await {
                for claim in claims {
                    queue.release(claim.lease, Duration::ZERO).await.ok();
                }
            }
            break;
        };
        match claims {
            Ok(claims) => {
                pause = PAUSE;
                for claim in claims {
                    let (queue, runner) = (queue.clone(), runner.clone());
                    let side = (giving_back.clone(), stuck.clone());
                    under_way.spawn(one(queue, runner, claim, free.pop(), side));
                }
            }
            Err(_unavailable) => {
                drop(free);
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
    let all = async |under_way: &mut JoinSet<()>| while under_way.join_next().await.is_some() {};
    if timeout(worker.grace, all(&mut under_way)).await.is_err() {
        give_back.send_replace(true);
        // Whatever is not given back by then comes to others when its lease is over.
        timeout(GIVING_BACK, all(&mut under_way)).await.ok();
        under_way.shutdown().await;
    }
}

/// What to do with an order after its run.
enum After {
    Store(Ending),
    /// Nothing can be said of it. Another worker may do better.
    Release,
}

async fn one<Q: JobQueue, R: Runner>(
    queue: Arc<Q>,
    runner: Arc<R>,
    claim: Claim<Q::Lease>,
    _place: Option<OwnedSemaphorePermit>,
    (mut giving_back, stuck): (watch::Receiver<bool>, Arc<AtomicUsize>),
) {
    let Claim { order, delivery, lease, lease_time } = claim;
    let mut extend = interval(lease_time / 3);
    extend.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first comes at once.
    extend.tick().await;
    let extending = async {
        loop {
            extend.tick().await;
            // The next may reach the queue. If none does, another worker gets the order, and one result counts.
            queue.extend(&lease).await.ok();
        }
    };
    let finishing = async {
        // It listens before it looks, so that nothing is missed between.
        let mut cancelling = pin!(queue.cancelling(&order));
        if poll!(&mut cancelling).is_ready() || queue.is_cancelled(&order).await.unwrap_or(false) {
            // A mark alone may be anybody's. Whoever asked for it stored this before, and then it is late.
            store(&*queue, &order, Ending::Cancelled, &stuck).await;
            return Ok(());
        }
        if delivery > MAX_DELIVERIES {
            // Whoever had it may have died of it, so it is not run once more.
            queue.bury(&order).await.map_err(|_unavailable| AFTER_FAILURE)?;
            store(&*queue, &order, Ending::Failed(Failed::gave_up()), &stuck).await;
            return Ok(());
        }
        match run(&*runner, &order, delivery, cancelling).await {
            After::Store(ending) => {
                store(&*queue, &order, ending, &stuck).await;
                Ok(())
            }
            After::Release => Err(AFTER_FAILURE),
        }
    };
    let finished: Result<(), Duration> = tokio::select! {
        biased;
        finished = finishing => finished,
        _ = giving_back.wait_for(|giving| *giving) => Err(Duration::ZERO),
        () = extending => Ok(()),
    };
    let told = match finished {
        Ok(()) => queue.done(lease).await,
        Err(after) => queue.release(lease, after).await,
    };
    // If the queue did not hear it, the order comes again, and its result is late.
    drop(told);
}

async fn run<R: Runner>(
    runner: &R,
    order: &Order,
    delivery: u32,
    mut cancelling: Pin<&mut impl Future<Output = ()>>,
) -> After {
    let mut has_run = false;
    loop {
        let (cancel, cancelled) = oneshot::channel();
        let mut cancel = Some(cancel);
        let options = RunOptions {
            // The id of a run is never used twice, and the first that had it may have been recorded.
            id: (delivery == 1 && !has_run).then(|| order.id.clone()),
            tenant: order.tenant.clone(),
            cancel: Some(cancelled),
            ..RunOptions::default()
        };
        has_run = true;
        let mut running = pin!(runner.run_with(order.job.clone(), options));
        let ran = loop {
            tokio::select! {
                biased;
                ran = &mut running => break ran,
                () = &mut cancelling, if cancel.is_some() => {
                    // It may be over already.
                    cancel.take().map(|cancel| cancel.send(()).ok());
                }
            }
        };
        return match ran {
            Ok(outcome) => After::Store(match to_raw_value(&outcome) {
                Ok(text) if text.get().len() <= MAX_OUTCOME => Ending::Outcome(text),
                Ok(text) => Ending::Failed(too_long(text.get().len())),
                Err(_unwritable) => return After::Release,
            }),
            Err(RunError::Busy(_)) if cancel.is_none() => After::Store(Ending::Cancelled),
            // It has not begun. Given back, it would count as delivered, and be given up without ever having run.
            Err(RunError::Busy(busy)) => tokio::select! {
                () = &mut cancelling => After::Store(Ending::Cancelled),
                () = sleep(busy.retry_after.clamp(PAUSE, LONGEST_PAUSE)) => continue,
            },
            // Otherwise nobody asked for it: the engine ends.
            Err(RunError::Cancelled) if cancel.is_none() => After::Store(Ending::Cancelled),
            Err(RunError::Request(error)) => After::Store(Ending::Failed(Failed {
                code: "request".into(),
                detail: error.to_string(),
                hint: error.hint().map(Into::into),
            })),
            Err(_ours) => After::Release,
        };
    }
}

fn too_long(bytes: usize) -> Failed {
    Failed {
        code: "too_long".into(),
        detail: format!(
            "the outcome has {bytes} bytes as JSON, and at most {MAX_OUTCOME} are kept"
        ),
        hint: Some(
            "return and print less, or run it with POST /v1/runs, whose answer may be longer"
                .into(),
        ),
    }
}

/// One result more has no room.
struct Stuck<'a>(&'a AtomicUsize);

impl Drop for Stuck<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Stores a result, and does not give up while the lease is extended.
async fn store<Q: JobQueue>(queue: &Q, order: &Order, ending: Ending, stuck: &AtomicUsize) {
    let mut waits = None;
    let mut ended = order.ended(ending);
    let mut pause = PAUSE;
    loop {
        match queue.store(order, &ended).await {
            Ok(_stored) => return,
            Err(QueueError::TooLong { bytes, .. }) => {
                ended = order.ended(Ending::Failed(too_long(bytes)));
            }
            Err(QueueError::NoSpace) if waits.is_none() => {
                stuck.fetch_add(1, Ordering::Relaxed);
                waits = Some(Stuck(stuck));
            }
            Err(_unavailable) => {}
        }
        sleep(pause).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}
