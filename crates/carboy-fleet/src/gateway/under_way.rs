//! A run that a node has, as those know it who bring news of it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::held::Held;
use crate::message::{Event, WINDOW_EVENTS};
use crate::nodes::Address;

/// Events that a gateway holds of one run, beside those that a node may have sent: probes and the like.
pub(super) const CHANNEL: usize = WINDOW_EVENTS as usize + 16;

/// A run that a node has, for those who bring news of it.
pub(super) struct UnderWay {
    pub run: String,
    pub address: Address,
    /// When it was begun here.
    pub begun: Duration,
    /// Its node has said something of it.
    pub is_known: bool,
    /// It is asked of a session, which is nowhere else.
    pub is_session: bool,
    pub events: mpsc::Sender<Incoming>,
    /// What is in that channel, and what became of it.
    pub held: Arc<Held>,
    /// The number of the next event that goes into it.
    pub next: u64,
    /// What is missing was asked for.
    pub is_asked: bool,
    /// When something was heard of it.
    pub heard: Duration,
    /// When its node is to be asked.
    pub ask_at: Duration,
    /// How long to wait for the time after that.
    pub patience: Duration,
}

/// News of a run.
pub(super) enum Incoming {
    Event(Box<Event>, Bytes),
    /// Nobody listens where it was sent.
    Nobody,
    /// Its node is gone.
    Lost,
    /// Nothing was heard for some time, or the link was made again.
    Silent,
    /// Nobody listened where it was sent, which is not believed yet. Nothing ran.
    Early,
    /// There is no link to any broker, and was none for long.
    Cut,
}

/// How long something of this size may be on its way: twenty megabytes a second is slow.
pub(super) fn way(bytes: usize) -> Duration {
    Duration::from_nanos(50 * bytes as u64)
}
