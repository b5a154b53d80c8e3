//! A runner that does what the code of a job says, and a worker that can be killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use carboy_engine::{RequestError, RunError, RunOptions, Runner, new_id};
use carboy_fleet::jobs::{Ended, Ending, JobQueue, QueueError, Ticket, Worker, work};
use carboy_protocol::pipe::FromEngine;
use carboy_protocol::{Job, Outcome};
use serde_json::value::to_raw_value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

/// Answers with the code of the job, unless the code says otherwise.
#[derive(Default)]
pub struct Scripted {
    pub runs: AtomicUsize,
    pub waits: AtomicUsize,
    pub cancels: AtomicUsize,
    pub begun: Notify,
    pub go_on: Notify,
}

pub fn outcome(code: &str) -> Outcome {
    let text = include_str!("../../../../golden/pipe/outcome_ok.json");
    match serde_json::from_str(text).expect("the golden message") {
        FromEngine::Outcome { outcome, .. } => {
            Outcome { result: Some(to_raw_value(code).expect("JSON")), ..*outcome }
        }
        _ => panic!("outcome_ok.json holds no outcome"),
    }
}

impl Runner for Scripted {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        match job.code.as_str() {
            "wait" => {
                self.waits.fetch_add(1, Ordering::SeqCst);
                self.begun.notify_one();
                self.go_on.notified().await;
            }
            "until cancelled" => {
                self.cancels.fetch_add(1, Ordering::SeqCst);
                self.begun.notify_one();
                let cancel = options.cancel.expect("a way to end it");
                cancel.await.ok();
                return Err(RunError::Cancelled);
            }
            // As an engine does that ends.
            "engine ends" => return Err(RunError::Cancelled),
            "wrong" => {
                return Err(RunError::Request(RequestError::CodeTooLong { bytes: 2, allowed: 1 }));
            }
            _ => {}
        }
        Ok(outcome(&job.code))
    }

    async fn shutdown(&self) {}
}

pub fn ticket(tenant: &str) -> Ticket {
    Ticket::new(new_id().expect("an id"), tenant.into(), "digest".into(), None).expect("a ticket")
}

pub async fn submit<Q: JobQueue>(queue: &Q, tenant: &str, code: &str) -> Ticket {
    let ticket = ticket(tenant);
    loop {
        match queue.publish(ticket.clone(), Job::new(code)).await {
            Ok(_new_or_again) => return ticket,
            // A broker on a busy machine may be late. The same ticket is one job.
            Err(QueueError::Unavailable(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

pub async fn ended<Q: JobQueue>(queue: &Q, ticket: &Ticket) -> Ended {
    loop {
        if let Ok(Some(ended)) = queue.result(ticket).await {
            return ended;
        }
        queue.ending(ticket).await;
    }
}

pub fn text(ended: &Ended) -> String {
    match &ended.ending {
        Ending::Outcome(outcome) => {
            let outcome: Outcome = serde_json::from_str(outcome.get()).expect("an outcome");
            outcome.result.expect("a result").get().to_owned()
        }
        other => format!("{other:?}"),
    }
}

pub struct Working {
    pub ending: watch::Sender<bool>,
    pub task: JoinHandle<()>,
}

impl Working {
    pub fn start<Q: JobQueue, R: Runner>(queue: &Arc<Q>, runner: &Arc<R>, slots: usize) -> Working {
        let (ending, told) = watch::channel(false);
        let worker = Worker { slots, grace: Duration::from_secs(60) };
        Working { ending, task: tokio::spawn(work(queue.clone(), runner.clone(), worker, told)) }
    }

    pub async fn end(self) {
        self.ending.send_replace(true);
        self.task.await.expect("it ends");
    }

    pub async fn kill(self) {
        self.task.abort();
        self.task.await.ok();
    }
}
