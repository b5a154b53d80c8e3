//! What the tasks and the runs of a node share.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::gather::Gather;
use super::kept::{Kept, Phase};
use super::spool::Spool;
use crate::bus::Bus;
use crate::clock::Clock;
use crate::nodes::{Address, Hint};
use crate::session::HoldsSessions;

/// How long a run that is over is known.
const KEEP: Duration = Duration::from_secs(60);

/// How much of what such runs said is kept, in bytes.
const KEEP_BYTES: usize = 64 << 20;

/// What a node is.
#[derive(Clone, Debug)]
pub struct WorkerConfig {
    /// Its name and this start of it.
    pub address: Address,
    /// Runs that it takes at once.
    pub slots: u32,
    /// The version of carboy.
    pub version: String,
    /// The time.
    pub clock: Clock,
    /// Who holds sessions, if it has any.
    pub sessions: Option<Arc<dyn HoldsSessions>>,
    /// Where files wait that are to be brought to a store, if it brings any.
    pub files: Option<Arc<Spool>>,
    /// How long sessions may go on when it is to leave.
    pub session_drain: Duration,
}

/// A node, for its tasks and its runs.
pub(super) struct Node<R, B> {
    pub runner: Arc<R>,
    pub bus: B,
    /// A connection of its own, so that bulk output does not delay it.
    pub beats: B,
    pub config: WorkerConfig,
    pub draining: AtomicBool,
    pub running: Mutex<Running>,
    /// A run ended, or said its last word.
    pub left: Notify,
    pub table: Mutex<Table>,
    pub ended: AtomicU64,
    pub refused: AtomicU64,
}

/// Runs that are not over.
#[derive(Clone, Copy, Default)]
pub(super) struct Running {
    /// Those that have a place.
    pub places: u32,
    /// Those that have not said their last word. A run leaves its place before that.
    pub unsaid: u32,
}

#[derive(Default)]
pub(super) struct Table {
    pub runs: HashMap<String, Arc<Kept>>,
    /// Runs that are over, in the order in which they are forgotten.
    pub over: VecDeque<Gone>,
    /// The next of them that is asked to let go of what it said.
    pub full: usize,
    pub bytes: usize,
    pub gateways: HashMap<String, Duration>,
    pub gather: Gather,
    /// When the broker was seen last: nobody is silent to whoever cannot hear.
    pub connected: Duration,
    pub ticked: Duration,
    /// When it was looked for runs that should have ended.
    pub looked: Duration,
}

/// A run that is over.
pub(super) struct Gone {
    pub until: Duration,
    pub kept: Arc<Kept>,
    /// What of it is in the sum: a gateway may take some of it later.
    pub bytes: usize,
}

impl<R, B: Bus> Node<R, B> {
    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn running(&self) -> MutexGuard<'_, Running> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn hint(&self) -> Hint {
        let total = self.config.slots;
        let draining = self.draining.load(Ordering::SeqCst);
        Hint { free: total.saturating_sub(self.running().places), total, draining }
    }

    /// Sends, and does not mind if it cannot: who waits for it asks again.
    pub async fn send(&self, subject: String, message: Bytes) {
        self.bus.publish(subject, None, message).await.ok();
    }

    /// Ends a run that nobody waits for.
    pub fn cancel(&self, kept: &Arc<Kept>) {
        let mut state = kept.state();
        if state.phase != Phase::Running {
            return;
        }
        if let Some(abort) = state.abort.take() {
            abort.abort();
        }
        drop(state);
        kept.forget();
        kept.room.notify_waiters();
    }

    /// A run has left, with its last word said or without one.
    pub fn over(&self, kept: Arc<Kept>) {
        self.ended.fetch_add(1, Ordering::Relaxed);
        let until = self.config.clock.now() + KEEP;
        let mut table = self.table();
        let bytes = kept.bytes();
        table.bytes += bytes;
        table.over.push_back(Gone { until, kept, bytes });
        while table.bytes > KEEP_BYTES && table.full < table.over.len() {
            let place = table.full;
            table.over[place].kept.forget();
            let bytes = std::mem::take(&mut table.over[place].bytes);
            table.bytes -= bytes;
            table.full += 1;
        }
    }
}
