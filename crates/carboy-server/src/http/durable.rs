//! Durable jobs as a door needs them, wherever they are queued.

use std::any::Any;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::StatusCode;
use carboy_protocol::Job;
use serde_json::value::RawValue;

use super::problem::Problem;

/// A job that a caller submitted.
#[derive(Clone, Debug)]
pub struct NewJob {
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// Of the request. Another request with the same id is refused.
    pub digest: String,
    /// Where its end is told.
    pub webhook: Option<String>,
    /// What to run.
    pub job: Job,
}

/// A job as far as it is known.
#[derive(Clone, Debug)]
pub struct JobSeen {
    /// Its id.
    pub id: String,
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_ms: u64,
    /// Where its end is told.
    pub webhook: Option<String>,
    /// How it stands.
    pub state: JobState,
}

/// How a job stands.
#[derive(Clone, Debug)]
pub enum JobState {
    /// It waits or runs.
    Accepted,
    /// It ended with an outcome, whatever the code did, at this time in milliseconds since 1970.
    Ended(u64, Box<RawValue>),
    /// It ended without one.
    Failed(u64, JobFailure),
    /// Its caller ended it.
    Cancelled(u64),
    /// It ended too long ago, or nobody ran it for too long.
    Expired,
}

impl JobState {
    /// A stable word for it.
    pub(super) fn word(&self) -> &'static str {
        match self {
            JobState::Accepted => "accepted",
            JobState::Ended(..) => "ended",
            JobState::Failed(..) => "failed",
            JobState::Cancelled(_) => "cancelled",
            JobState::Expired => "expired",
        }
    }
}

/// Why a job has no outcome.
#[derive(Clone, Debug)]
pub struct JobFailure {
    /// A stable word for programs.
    pub code: String,
    /// A sentence.
    pub detail: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// A job in a list.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// Its id.
    pub id: String,
    /// When it was accepted, in milliseconds since 1970.
    pub accepted_ms: u64,
    /// Whether it ended in any way.
    pub has_ended: bool,
}

/// An end that a webhook is to be told of.
pub struct JobNotice {
    /// The job.
    pub id: String,
    /// Whose it is.
    pub tenant: String,
    /// The how manieth attempt this is, from 1.
    pub attempt: u32,
    /// What whoever queues them knows it by.
    pub lease: Box<dyn Any + Send>,
}

/// Why a job was not taken, or nothing can be said of it.
#[derive(Debug)]
pub enum JobsFault {
    /// The tenant has as many waiting as it may have.
    Full,
    /// It is too long.
    TooLong(String, &'static str),
    /// Another request has this id.
    Taken,
    /// The queue does not answer, or must not be used: why, and what to do.
    Unavailable(String, &'static str),
}

/// Something that takes its time.
pub type Promise<'a, T> = Pin<Box<dyn Future<Output = Result<T, JobsFault>> + Send + 'a>>;

/// Where durable jobs are queued.
pub trait Jobs: Send + Sync {
    /// Takes a job. `false` if the same request was taken before.
    fn submit(&self, job: NewJob) -> Promise<'_, bool>;

    /// How a tenant's job stands. It waits as long as this for its end.
    fn look<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        wait: Duration,
    ) -> Promise<'a, Option<JobSeen>>;

    /// Ends a tenant's job. Whether that ended it, and how it stands.
    fn cancel<'a>(&'a self, tenant: &'a str, id: &'a str) -> Promise<'a, Option<(bool, JobSeen)>>;

    /// A tenant's jobs, the newest first.
    fn list<'a>(&'a self, tenant: &'a str, most: usize) -> Promise<'a, Vec<JobRow>>;

    /// Ends that webhooks are to be told of. It waits a short time if there are none.
    fn notices(&self, most: usize) -> Promise<'_, Vec<JobNotice>>;

    /// A notice was dealt with, or is to come again after this time.
    fn noticed(&self, lease: Box<dyn Any + Send>, again: Option<Duration>) -> Promise<'_, ()>;
}

/// The jobs that a door offers.
#[derive(Default)]
pub(super) struct Offered(OnceLock<Arc<dyn Jobs>>);

impl Offered {
    /// Offers these from now on.
    pub fn set(&self, jobs: Arc<dyn Jobs>) {
        // Who was told first is asked.
        self.0.set(jobs).ok();
    }

    pub fn get(&self) -> Result<&Arc<dyn Jobs>, Problem> {
        self.0.get().ok_or_else(|| Problem::not_found().hint("this server queues no jobs"))
    }
}

impl JobsFault {
    pub(super) fn problem(self) -> Problem {
        match self {
            JobsFault::Full => {
                let detail = "as many jobs of this tenant wait as may";
                Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
                    .again_in(Duration::from_secs(5))
                    .hint("wait until some of them have ended")
            }
            JobsFault::TooLong(detail, hint) => {
                Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "body_size", detail).hint(hint)
            }
            JobsFault::Taken => {
                let detail = "this Idempotency-Key belongs to another job";
                Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "idempotency", detail).hint(
                    "take a new key for each request; only the same request may be sent again",
                )
            }
            JobsFault::Unavailable(detail, hint) => {
                Problem::new(StatusCode::SERVICE_UNAVAILABLE, "durable_unavailable", detail)
                    .again_in(Duration::from_secs(2))
                    .hint(hint)
            }
        }
    }
}
