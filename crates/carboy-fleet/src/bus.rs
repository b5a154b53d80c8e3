//! The one seam between the fleet and a network: messages under subjects, from one to whoever listens.
//!
//! Everything else in this crate is the same over a broker ([`NatsBus`](crate::NatsBus)) and inside a process
//! ([`LocalBus`](crate::LocalBus)), so every rule of the fleet is tested without a broker too.
//!
//! A message may be lost, and is not delivered twice. What is sent to nobody is reported on the reply subject,
//! if there is one: that is how a gateway learns at once that a node is gone.

use std::error::Error;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};

/// A connection to whatever carries messages. Clones share it.
pub trait Bus: Clone + Send + Sync + 'static {
    /// Sends a message. That it was taken does not say that anybody got it.
    fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        payload: Bytes,
    ) -> impl Future<Output = Result<(), BusError>> + Send;

    /// Listens to a subject. `*` stands for one word of it, and `>` for all that follow.
    fn subscribe(
        &self,
        subject: String,
    ) -> impl Future<Output = Result<Subscription, BusError>> + Send;

    /// Listens to a subject together with all who name the same group: each message goes to one of them.
    fn subscribe_in(
        &self,
        subject: String,
        group: &'static str,
    ) -> impl Future<Output = Result<Subscription, BusError>> + Send;

    /// Waits until the other side has everything that was asked of it, such as a subscription.
    fn flush(&self) -> impl Future<Output = Result<(), BusError>> + Send;

    /// The largest payload of a message, in bytes.
    fn max_payload(&self) -> usize;

    /// The subject below which this connection may listen for replies, without a dot at its end.
    fn inbox(&self) -> &str;

    /// Whether messages pass. A connection that was lost is made again by itself.
    fn is_connected(&self) -> bool;

    /// How often a connection was made: one that was away for a moment is known by it.
    fn connects(&self) -> u64;

    /// Gives the connection up for one to another broker, if there are several.
    fn renew(&self) -> impl Future<Output = ()> + Send;
}

/// A message that was received.
#[derive(Clone, Debug)]
pub struct Message {
    /// What it was sent to.
    pub subject: String,
    /// Where an answer is wanted.
    pub reply: Option<String>,
    /// What is in it.
    pub payload: Bytes,
    /// Nobody listens to the subject that was asked with this as its reply subject. The payload is empty.
    pub no_responders: bool,
}

/// Messages as they come. Dropping it ends the subscription.
///
/// It has room for a bounded number of messages that nobody took yet. What comes when it is full is lost.
pub struct Subscription(Pin<Box<dyn Stream<Item = Message> + Send>>);

impl Subscription {
    /// Messages from this stream.
    pub fn new(messages: impl Stream<Item = Message> + Send + 'static) -> Subscription {
        Subscription(Box::pin(messages))
    }

    /// The next message; `None` when no more can come. Nothing is lost if the wait is given up.
    pub async fn next(&mut self) -> Option<Message> {
        self.0.next().await
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, form: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        form.write_str("Subscription")
    }
}

/// Why something could not be asked of the bus.
#[derive(Debug, thiserror::Error)]
pub enum BusError {
    /// The message is larger than the other side takes.
    #[error("a message of {bytes} bytes is larger than the broker takes ({most})")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// It is over for good.
    #[error("the connection to the broker is closed")]
    Closed,
    /// A file with credentials cannot be used.
    #[error("cannot use {file}")]
    Credentials {
        /// Which one.
        file: String,
        /// Why.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
    /// No broker answered, or it did not let us in.
    #[error("cannot connect to the broker at {place}")]
    Connect {
        /// Where it was looked for.
        place: String,
        /// Why.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
    /// The client refused.
    #[error("could not {step}")]
    Client {
        /// What we were doing.
        step: &'static str,
        /// Why.
        #[source]
        error: Box<dyn Error + Send + Sync>,
    },
}

impl BusError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            BusError::TooLarge { .. } => {
                "send less, or raise `max_payload` in the settings of every broker"
            }
            BusError::Closed => "start it again",
            BusError::Credentials { .. } => {
                "name readable files: an nkey seed begins with SU, certificates and keys are PEM"
            }
            BusError::Connect { .. } => {
                "is a nats-server running there, and does it take these credentials?"
            }
            BusError::Client { .. } => "the log of the broker says more",
        }
    }
}
