//! Who waits for something about one job, and is woken when it may have happened.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Those who wait, by the id of the job. An id takes no memory when nobody waits for it.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    by_id: Mutex<HashMap<String, Arc<Notify>>>,
}

/// One who waits. Whatever happens after it was made wakes it.
pub(super) struct Waiter<'a> {
    waiting: &'a Waiting,
    id: String,
    notify: Arc<Notify>,
}

impl Waiting {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Notify>>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for this id from now on.
    pub fn enter(&self, id: &str) -> Waiter<'_> {
        let notify = self.lock().entry(id.to_owned()).or_default().clone();
        Waiter { waiting: self, id: id.to_owned(), notify }
    }

    /// Wakes all who wait for this id.
    pub fn wake(&self, id: &str) {
        let notify = self.lock().get(id).cloned();
        if let Some(notify) = notify {
            notify.notify_waiters();
        }
    }
}

impl Waiter<'_> {
    /// Returns when it is woken.
    pub async fn woken(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        let mut by_id = self.waiting.lock();
        // The map has one of them, and this is the other.
        if Arc::strong_count(&self.notify) <= 2 {
            by_id.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_who_wait_are_woken_and_none_is_kept() {
        let waiting = Waiting::default();
        let (first, second) = (waiting.enter("a"), waiting.enter("a"));
        let (one, two) = (first.notify.notified(), second.notify.notified());
        waiting.wake("b");
        waiting.wake("a");
        tokio::join!(one, two);
        drop((first, second));
        assert!(waiting.lock().is_empty());
    }
}
