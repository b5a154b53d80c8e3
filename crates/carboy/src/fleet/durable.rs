//! Durable jobs of a fleet: what a gateway and a worker need for them beside what they do anyway.
//!
//! Both have a connection of their own for it: what is long and kept does not hold up what is short and waited for.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use carboy_engine::Runner;
use carboy_fleet::jobs::{NatsJobs, NatsJobsOptions, StreamBounds, Worker, work};
use carboy_fleet::name::{NodeName, Start, gateway_inbox, node_inbox};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::brokers::Credentials;
use crate::failure::Failure;

/// Jobs as the gateway of this name keeps them. Who starts it is told if the broker must not.
pub async fn of_gateway(
    credentials: &Credentials,
    url: &str,
    name: Start,
    allow_old_broker: bool,
) -> Result<Arc<NatsJobs>, Failure> {
    let title = format!("carboy gateway {name} jobs");
    let bus = credentials.connect(url, &title, &gateway_inbox(name)).await?;
    let options = NatsJobsOptions {
        gateway: name.to_string(),
        bounds: StreamBounds::of_brokers(NatsJobs::brokers(bus.client(), url)),
        allow_old_broker,
    };
    let jobs = NatsJobs::new(bus.client().clone(), options, name.0);
    if let Err(refused) = jobs.check_broker() {
        // Everything else works without them.
        let text = format!("durable jobs are not taken: {refused}\nhint: {}\n", refused.hint());
        std::io::stderr().write_all(text.as_bytes()).ok();
    }
    Ok(jobs)
}

/// A worker's part in durable jobs.
pub struct Durable {
    leaving: watch::Sender<bool>,
    working: JoinHandle<()>,
    hearing: JoinHandle<()>,
}

impl Durable {
    /// Runs so many at once. What is under way has `grace` to end when it leaves.
    pub async fn start<R: Runner>(
        credentials: &Credentials,
        url: &str,
        (node, start): (NodeName, Start),
        runner: Arc<R>,
        worker: Worker,
    ) -> Result<Durable, Failure> {
        let title = format!("carboy worker {node} jobs");
        let bus = credentials.connect(url, &title, &node_inbox(node)).await?;
        // Gateways refuse what a broker would lose. What was accepted is run.
        let options = NatsJobsOptions { allow_old_broker: true, ..NatsJobsOptions::default() };
        let queue = NatsJobs::new(bus.client().clone(), options, start.0);
        let hearing = tokio::spawn(queue.clone().attend_worker());
        let (leaving, told) = watch::channel(false);
        let working = tokio::spawn(work(queue, runner, worker, told));
        Ok(Durable { leaving, working, hearing })
    }

    /// Takes no more, and returns when nothing is under way or the time is over.
    pub async fn leave(self) {
        self.leaving.send_replace(true);
        // It cannot panic, and if it did there is nothing to wait for.
        self.working.await.ok();
        self.hearing.abort();
    }
}

/// How many durable jobs a node runs at once if nobody says.
pub fn usual_count() -> u32 {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(processors).unwrap_or(1)
}

/// How long what is under way has to end: as long as runs have.
pub fn worker(slots: u32, grace: Duration) -> Worker {
    Worker { slots: slots as usize, grace }
}
