//! Durable jobs: what is accepted is run and has exactly one stored result, whoever crashes meanwhile.
//!
//! A gateway writes a [`Ticket`] and queues an [`Order`]. A worker [claims](JobQueue::claim) it, runs it, stores what
//! came of it and only then takes it off the queue. A worker that dies says nothing: when its lease is over, another
//! gets the order. So code may run more than once, but the first stored result is the only one: a second is refused by
//! whoever stores them. An order that [`MAX_DELIVERIES`] workers took without a result goes to the dead letters.
//!
//! A worker may be broken, and all workers may write results. So each job has a token that only its gateway and
//! whoever runs it know, and a result [counts](Ticket::takes) only with it.

mod local;
mod nats;
mod streams;
mod ticket;
mod waiting;
mod work;

use std::time::Duration;

use carboy_protocol::Job;

pub use local::{LocalBounds, LocalJobs};
pub use nats::{NatsJobs, NatsJobsOptions};
pub use streams::StreamBounds;
pub(crate) use streams::part;
pub use ticket::{Ended, Ending, Failed, Order, Ticket};
pub use work::{Worker, work};

/// How often an order is run before it is given up: whoever gets it once more writes it to the dead letters.
pub const MAX_DELIVERIES: u32 = 4;

/// How long an order waits for a worker at most, and how long a result is kept. Both are the same, so that a job
/// without a result that is younger than this has not ended.
pub const KEPT: Duration = Duration::from_secs(24 * 3600);

/// Which jobs an order waits among: a long job must not keep short ones from a worker that dies from being noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// At most 30 seconds.
    Short,
    /// Longer.
    Long,
}

impl Class {
    /// Both, in the order in which they are looked at.
    pub const ALL: [Class; 2] = [Class::Short, Class::Long];

    /// The class of a job.
    pub fn of(job: &Job) -> Class {
        if job.policy.limits.wall_ms <= 30_000 { Class::Short } else { Class::Long }
    }

    /// Its name in subjects.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Short => "short",
            Class::Long => "long",
        }
    }

    /// How long a worker may be silent about an order before another gets it.
    pub fn lease(self) -> Duration {
        match self {
            Class::Short => Duration::from_secs(10),
            Class::Long => Duration::from_secs(30),
        }
    }
}

/// Whether a job was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// It is.
    New,
    /// The same request came before.
    Again,
}

/// Whether a result is the one that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// It is.
    First,
    /// There was one already, which stays.
    Late,
}

/// An order that a worker has for as long as its lease is extended.
#[derive(Debug)]
pub struct Claim<L> {
    /// What to run.
    pub order: Order,
    /// The how manieth delivery this is, from 1.
    pub delivery: u32,
    /// How long it may be silent.
    pub lease_time: Duration,
    /// What it is extended and finished by.
    pub lease: L,
}

/// A job whose end is to be told to its webhook.
#[derive(Debug)]
pub struct Notice<L> {
    /// The job.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// The how manieth attempt this is, from 1.
    pub attempt: u32,
    /// What it is finished by.
    pub lease: L,
}

/// A job in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The job.
    pub ticket: Ticket,
    /// Whether it ended.
    pub has_ended: bool,
}

/// Why a queue did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum QueueError {
    /// The tenant has as many jobs waiting as it may have.
    #[error("as many jobs of this tenant wait as may")]
    Full,
    /// The store is full, of whoever's jobs.
    #[error("the store of durable jobs is full")]
    NoSpace,
    /// The request cannot be stored.
    #[error("the job has {bytes} bytes as JSON, and at most {most} can be queued")]
    TooLong {
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        most: usize,
    },
    /// The id belongs to another request.
    #[error("another request has this id")]
    Taken,
    /// The store does not answer, or most of its brokers are gone.
    #[error("the durable queue does not answer: {0}")]
    Unavailable(String),
    /// The broker would lose jobs.
    #[error("the broker is NATS {found}, and durable jobs need at least 2.11")]
    OldBroker {
        /// Its version.
        found: String,
    },
}

impl QueueError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            QueueError::Full => "wait until some of them have ended, and submit it again",
            QueueError::NoSpace => {
                "submit it again later: room comes with jobs that end and results that are a day old; the operator \
                 sees how full the streams CB_* are"
            }
            QueueError::TooLong { .. } => {
                "send less data with the job, or run it with POST /v1/runs"
            }
            QueueError::Taken => {
                "take a new key for each request; only the same request may be sent again"
            }
            QueueError::Unavailable(_) => {
                "submit it again with the same Idempotency-Key: a job that was accepted is not lost"
            }
            QueueError::OldBroker { .. } => {
                "older brokers keep different queues after one of them restarts: install nats-server 2.12 or later, \
                 or accept that with --allow-old-broker"
            }
        }
    }
}

/// A queue of jobs that keeps what it accepted, and a store of what came of them.
///
/// Whatever fails may be done again: nothing here takes effect twice, but running the code.
pub trait JobQueue: Send + Sync + 'static {
    /// What one delivery is known by.
    type Lease: Send + Sync + 'static;

    /// Accepts a job. When it returns, the job survives whatever this queue survives.
    fn publish(
        &self,
        ticket: Ticket,
        job: Job,
    ) -> impl Future<Output = Result<Published, QueueError>> + Send;

    /// Orders to run, at most so many. It waits a short time if there are none.
    fn claim(
        &self,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Claim<Self::Lease>>, QueueError>> + Send;

    /// Says that an order is still being worked on.
    fn extend(&self, lease: &Self::Lease) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Stores what came of an order, unless a result is there, and has the webhook told if it asks for that.
    fn store(
        &self,
        order: &Order,
        ended: &Ended,
    ) -> impl Future<Output = Result<Stored, QueueError>> + Send;

    /// Writes an order to the dead letters.
    fn bury(&self, order: &Order) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Takes an order off the queue, after its result was stored.
    fn done(&self, lease: Self::Lease) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Gives an order back, for another worker after this time.
    fn release(
        &self,
        lease: Self::Lease,
        after: Duration,
    ) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Whether the caller of an order has ended it.
    fn is_cancelled(&self, order: &Order) -> impl Future<Output = Result<bool, QueueError>> + Send;

    /// Returns when the caller of an order may have ended it.
    fn cancelling(&self, order: &Order) -> impl Future<Output = ()> + Send;

    /// What a gateway knows of a tenant's job.
    fn ticket(
        &self,
        tenant: &str,
        id: &str,
    ) -> impl Future<Output = Result<Option<Ticket>, QueueError>> + Send;

    /// What came of a job, if it ended and somebody who knew its token said so.
    fn result(
        &self,
        ticket: &Ticket,
    ) -> impl Future<Output = Result<Option<Ended>, QueueError>> + Send;

    /// Returns when a job may have ended, or after a second.
    fn ending(&self, ticket: &Ticket) -> impl Future<Output = ()> + Send;

    /// Ends a job, unless it has ended.
    fn cancel(&self, ticket: &Ticket) -> impl Future<Output = Result<Stored, QueueError>> + Send;

    /// A tenant's jobs, the newest first.
    fn list(
        &self,
        tenant: &str,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Listed>, QueueError>> + Send;

    /// Ends that are to be told to webhooks, at most so many. It waits a short time if there are none.
    fn notices(
        &self,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Notice<Self::Lease>>, QueueError>> + Send;
}
