//! Durable jobs as `carboy serve` offers them, on any queue of the fleet's.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use carboy_engine::{Load, RunError, RunOptions, Runner, Sessions};
use carboy_fleet::jobs::{Ended, Ending, JobQueue, Published, QueueError, Stored, Ticket};
use carboy_protocol::{Job, Outcome};
use carboy_server::http::{
    Door, JobFailure, JobNotice, JobRow, JobSeen, JobState, Jobs, JobsFault, NewJob, Promise,
};
use tokio::time::{Instant, timeout_at};

/// Jobs on a queue.
pub struct Queued<Q>(pub Arc<Q>);

fn fault(error: QueueError) -> JobsFault {
    let hint = error.hint();
    match error {
        QueueError::Full => JobsFault::Full,
        QueueError::Taken => JobsFault::Taken,
        QueueError::TooLong { .. } => JobsFault::TooLong(error.to_string(), hint),
        // What the store said is the operator's to know.
        QueueError::Unavailable(_) => {
            JobsFault::Unavailable("the durable queue does not answer".into(), hint)
        }
        QueueError::NoSpace | QueueError::OldBroker { .. } => {
            JobsFault::Unavailable(error.to_string(), hint)
        }
    }
}

fn seen(ticket: Ticket, ended: Option<Ended>) -> JobSeen {
    let state = match ended {
        None if ticket.is_over_age() => JobState::Expired,
        None => JobState::Accepted,
        Some(Ended { ended_ms, ending, .. }) => match ending {
            Ending::Outcome(outcome) => JobState::Ended(ended_ms, outcome),
            Ending::Cancelled => JobState::Cancelled(ended_ms),
            Ending::Failed(failed) => {
                let (code, detail, hint) = (failed.code, failed.detail, failed.hint);
                JobState::Failed(ended_ms, JobFailure { code, detail, hint })
            }
        },
    };
    JobSeen { id: ticket.id, accepted_ms: ticket.accepted_ms, webhook: ticket.webhook, state }
}

impl<Q: JobQueue> Queued<Q> {
    async fn found(&self, tenant: &str, id: &str) -> Result<Option<Ticket>, JobsFault> {
        self.0.ticket(tenant, id).await.map_err(fault)
    }
}

impl<Q: JobQueue> Jobs for Queued<Q> {
    fn submit(&self, job: NewJob) -> Promise<'_, bool> {
        Box::pin(async move {
            let NewJob { id, tenant, digest, webhook, job } = job;
            let ticket = Ticket::new(id, tenant, digest, webhook);
            let unmade = |_error| {
                let hint = "the operator finds the cause in the log of `carboy serve`";
                JobsFault::Unavailable("the kernel has no random numbers".into(), hint)
            };
            let published = self.0.publish(ticket.map_err(unmade)?, job).await.map_err(fault)?;
            Ok(published == Published::New)
        })
    }

    fn look<'a>(
        &'a self,
        tenant: &'a str,
        id: &'a str,
        wait: Duration,
    ) -> Promise<'a, Option<JobSeen>> {
        Box::pin(async move {
            let Some(ticket) = self.found(tenant, id).await? else { return Ok(None) };
            let until = Instant::now() + wait;
            loop {
                let ended = self.0.result(&ticket).await.map_err(fault)?;
                if ended.is_some() || Instant::now() >= until {
                    return Ok(Some(seen(ticket, ended)));
                }
                // The time is over, or there may be news.
                timeout_at(until, self.0.ending(&ticket)).await.ok();
            }
        })
    }

    fn cancel<'a>(&'a self, tenant: &'a str, id: &'a str) -> Promise<'a, Option<(bool, JobSeen)>> {
        Box::pin(async move {
            let Some(ticket) = self.found(tenant, id).await? else { return Ok(None) };
            let stored = self.0.cancel(&ticket).await.map_err(fault)?;
            let ended = self.0.result(&ticket).await.map_err(fault)?;
            Ok(Some((stored == Stored::First, seen(ticket, ended))))
        })
    }

    fn list<'a>(&'a self, tenant: &'a str, most: usize) -> Promise<'a, Vec<JobRow>> {
        Box::pin(async move {
            let listed = self.0.list(tenant, most).await.map_err(fault)?;
            let row = |listed: carboy_fleet::jobs::Listed| JobRow {
                id: listed.ticket.id,
                accepted_ms: listed.ticket.accepted_ms,
                has_ended: listed.has_ended,
            };
            Ok(listed.into_iter().map(row).collect())
        })
    }

    fn notices(&self, most: usize) -> Promise<'_, Vec<JobNotice>> {
        Box::pin(async move {
            let notices = self.0.notices(most).await.map_err(fault)?;
            let notice = |notice: carboy_fleet::jobs::Notice<Q::Lease>| JobNotice {
                id: notice.id,
                tenant: notice.tenant,
                attempt: notice.attempt,
                lease: Box::new(notice.lease),
            };
            Ok(notices.into_iter().map(notice).collect())
        })
    }

    fn noticed(&self, lease: Box<dyn Any + Send>, again: Option<Duration>) -> Promise<'_, ()> {
        Box::pin(async move {
            // It is one of those that this gave out.
            let Ok(lease) = lease.downcast::<Q::Lease>() else { return Ok(()) };
            match again {
                Some(time) => self.0.release(*lease, time).await,
                None => self.0.done(*lease).await,
            }
            .map_err(fault)
        })
    }
}

/// Runs jobs where a door runs everything else, and counts what they use as their tenant's.
pub struct Behind<R: Sessions>(pub Arc<Door<R>>);

impl<R: Sessions> Runner for Behind<R> {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        let tenant = options.tenant.clone();
        let outcome = self.0.runner().run_with(job, options).await?;
        self.0.used_cpu(&tenant, outcome.usage.cpu_ms / 1e3);
        Ok(outcome)
    }

    async fn shutdown(&self) {
        self.0.runner().shutdown().await;
    }

    fn load(&self) -> Option<Load> {
        self.0.runner().load()
    }

    fn unready(&self) -> Option<&'static str> {
        self.0.runner().unready()
    }
}
