//! What `carboy worker --log json` writes to standard error: a line for each run that begins, and one for its end.
//!
//! A gateway knows what it asked for. What began on which start of a node is known there alone, and is what tells whether
//! anything ran twice.

use std::pin::pin;
use std::sync::Arc;

use carboy_engine::{Load, RunError, RunOptions, Runner};
use carboy_fleet::Address;
use carboy_protocol::{Job, Outcome};
use serde_json::json;
use tokio::sync::oneshot;

use crate::guest_text::one_line;
use crate::serve_log::{LogForm, Writer, of_outcome, written};

/// A runner, of whose runs there are lines if they are wanted.
pub struct Logged<R> {
    runner: Arc<R>,
    address: String,
    writer: Option<Writer>,
}

impl<R: Runner> Logged<R> {
    /// Tells of the runs of this node.
    pub fn new(runner: Arc<R>, form: LogForm, address: Address) -> Logged<R> {
        let writer = (form == LogForm::Json).then(Writer::start);
        Logged { runner, address: address.to_string(), writer }
    }

    /// Waits until everything is written, but not for long.
    pub fn flush(&self) {
        if let Some(writer) = &self.writer {
            writer.flush();
        }
    }

    async fn told(
        &self,
        writer: &Writer,
        job: Job,
        mut options: RunOptions,
    ) -> Result<Outcome, RunError> {
        let (tell, mut begun) = oneshot::channel();
        let mut theirs = options.begun.replace(tell);
        let (run, tenant) = (options.id.clone(), options.tenant.clone());
        let mut begins = || {
            let line = json!({
                "event": "begun", "address": self.address, "run": run, "tenant": one_line(&tenant),
            });
            writer.line(written("info", line));
            if let Some(theirs) = theirs.take() {
                theirs.send(()).ok(); // Nobody may wait for it any more.
            }
        };
        let mut running = pin!(self.runner.run_with(job, options));
        let mut is_unknown = true;
        let ran = loop {
            tokio::select! {
                biased;
                has_begun = &mut begun, if is_unknown => {
                    is_unknown = false;
                    if has_begun.is_ok() {
                        begins();
                    }
                }
                ran = &mut running => break ran,
            }
        };
        if is_unknown && begun.try_recv().is_ok() {
            begins();
        }
        let known = json!({ "address": self.address, "tenant": one_line(&tenant) });
        writer.line(match &ran {
            Ok(outcome) => of_outcome(outcome, known),
            Err(error) => {
                let message = one_line(&error.to_string());
                let facts = json!({
                    "event": "failure", "address": self.address, "run": run, "message": message,
                });
                written("warn", facts)
            }
        });
        ran
    }
}

impl<R: Runner> Runner for Logged<R> {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        match &self.writer {
            Some(writer) => self.told(writer, job, options).await,
            None => self.runner.run_with(job, options).await,
        }
    }

    async fn shutdown(&self) {
        self.runner.shutdown().await;
    }

    fn load(&self) -> Option<Load> {
        self.runner.load()
    }
}
