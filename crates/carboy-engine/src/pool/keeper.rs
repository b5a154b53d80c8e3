//! The keeper: fills shelves, buries jars that have done their work and renews what jars come from,
//! beside the runs and out of their way.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::pool::stock::Stock;
use crate::tier::{Jar, Tier};

/// How many jars are made at once when nobody waits.
const FILLING: usize = 3;
/// How long nobody must have run before the keeper goes to work.
const QUIET: Duration = Duration::from_millis(1);
/// How long the keeper waits for that before it works beside runs. A jar that has answered lives as long,
/// and nobody measures it any more. That is a quarter of the interval at which jars that run are measured,
/// so it can take no more in it than they can. Stopping it at once would cost the caller a tenth of a short
/// run: the signal takes 17 microseconds to send, as much as killing it.
const PATIENCE: Duration = Duration::from_millis(5);

/// A task, started when it is first needed, and again if it ended with the runtime that it was in.
#[derive(Default)]
pub(super) struct Keeper(Mutex<Option<JoinHandle<()>>>);

impl Keeper {
    fn task(&self) -> std::sync::MutexGuard<'_, Option<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the task, if there is none.
    pub fn start<T: Tier>(&self, stock: &Arc<Stock<T>>) {
        let mut task = self.task();
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(keep(Arc::downgrade(stock), stock.wanted.clone())));
        }
    }

    /// Ends the task and waits until it makes nothing more.
    pub async fn stop(&self) {
        let task = self.task().take();
        if let Some(task) = task {
            task.abort();
            // That it was aborted is no news.
            task.await.ok();
        }
    }
}

/// Keeps the stock for as long as it is there.
async fn keep<T: Tier>(stock: Weak<Stock<T>>, wanted: Arc<Notify>) {
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    loop {
        let ticked = tokio::select! {
            () = wanted.notified() => {
                settle(&stock, &wanted).await;
                false
            }
            _ = tick.tick() => true,
        };
        let Some(stock) = stock.upgrade() else { return };
        stock.bury_all();
        if ticked {
            stock.shelves.shrink();
            renew(&stock).await;
            stock.shelves.discard(T::Jar::is_current);
        }
        stock.fill(FILLING);
    }
}

/// Renews what jars come from. That takes its time, and what has done its work does not wait for it.
async fn renew<T: Tier>(stock: &Stock<T>) {
    let mut renewing = std::pin::pin!(stock.tier.renew());
    loop {
        tokio::select! {
            () = &mut renewing => return,
            () = stock.wanted.notified() => stock.bury_all(),
        }
    }
}

/// Waits until nobody has been at work for a moment: what is made or destroyed beside runs slows
/// them down, and whoever got an answer may come again at once.
async fn settle<T: Tier>(stock: &Weak<Stock<T>>, wanted: &Notify) {
    let busy = || stock.upgrade().is_some_and(|stock| stock.is_busy());
    let low = || stock.upgrade().is_some_and(|stock| stock.shelves.is_low());
    let quiet = async {
        loop {
            let came = tokio::time::timeout(QUIET, wanted.notified()).await.is_ok();
            if low() || !came && !busy() {
                return;
            }
        }
    };
    if low() {
        // The tasks that hand an answer to its caller still go first.
        for _ in 0..8 {
            tokio::task::yield_now().await;
        }
    } else {
        // Some take their time.
        tokio::time::timeout(PATIENCE, quiet).await.ok();
    }
}
