//! What `carboy worker --log json` writes to standard error: a line for each run that begins, and one for its end,
//! in sessions too.
//!
//! A gateway knows what it asked for. What began on which start of a node is known there alone, and is what tells whether
//! anything ran twice.

use std::pin::pin;
use std::sync::Arc;

use carboy_engine::{Load, RunError, RunOptions, Runner, SessionHandle, Sessions};
use carboy_fleet::Address;
use carboy_protocol::{Job, Opening, Outcome, Piece, Reply, Variables};
use serde_json::json;
use tokio::sync::oneshot;

use crate::guest_text::one_line;
use crate::serve_log::{LogForm, Writer, of_outcome, written};

/// Who writes of the runs of a node.
struct Teller {
    address: String,
    writer: Writer,
}

impl Teller {
    /// Runs something, and tells of its beginning and its end.
    async fn told<T, F: Future<Output = Result<T, RunError>>>(
        &self,
        mut options: RunOptions,
        run: impl FnOnce(RunOptions) -> F,
        outcome: impl FnOnce(&T) -> &Outcome,
    ) -> Result<T, RunError> {
        let (tell, mut begun) = oneshot::channel();
        let mut theirs = options.begun.replace(tell);
        let (id, tenant) = (options.id.clone(), options.tenant.clone());
        let mut begins = || {
            let line = json!({
                "event": "begun", "address": self.address, "run": id, "tenant": one_line(&tenant),
            });
            self.writer.line(written("info", line));
            if let Some(theirs) = theirs.take() {
                theirs.send(()).ok(); // Nobody may wait for it any more.
            }
        };
        let mut running = pin!(run(options));
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
        self.writer.line(match &ran {
            Ok(ended) => of_outcome(outcome(ended), known),
            Err(error) => {
                let message = one_line(&error.to_string());
                let facts = json!({
                    "event": "failure", "address": self.address, "run": id, "message": message,
                });
                written("warn", facts)
            }
        });
        ran
    }
}

/// A runner, of whose runs there are lines if they are wanted.
pub struct Logged<R> {
    runner: Arc<R>,
    teller: Option<Arc<Teller>>,
}

impl<R: Runner> Logged<R> {
    /// Tells of the runs of this node.
    pub fn new(runner: Arc<R>, form: LogForm, address: Address) -> Logged<R> {
        let teller = || Arc::new(Teller { address: address.to_string(), writer: Writer::start() });
        Logged { runner, teller: (form == LogForm::Json).then(teller) }
    }

    /// Waits until everything is written, but not for long.
    pub fn flush(&self) {
        if let Some(teller) = &self.teller {
            teller.writer.flush();
        }
    }
}

impl<R: Runner> Runner for Logged<R> {
    async fn run_with(&self, job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        let run = |options| self.runner.run_with(job, options);
        match &self.teller {
            Some(teller) => teller.told(options, run, |outcome| outcome).await,
            None => run(options).await,
        }
    }

    async fn shutdown(&self) {
        self.runner.shutdown().await;
    }

    fn load(&self) -> Option<Load> {
        self.runner.load()
    }
}

impl<R: Sessions> Sessions for Logged<R> {
    type Session = LoggedSession<R::Session>;

    async fn session_with(
        &self,
        opening: Opening,
        tenant: &str,
    ) -> Result<Self::Session, RunError> {
        let session = self.runner.session_with(opening, tenant).await?;
        Ok(LoggedSession { session, teller: self.teller.clone() })
    }
}

/// A session, of whose runs there are lines if they are wanted.
pub struct LoggedSession<S> {
    session: S,
    teller: Option<Arc<Teller>>,
}

impl<S: SessionHandle> SessionHandle for LoggedSession<S> {
    fn id(&self) -> Option<&str> {
        self.session.id()
    }

    async fn run_with(&self, piece: Piece, options: RunOptions) -> Result<Reply, RunError> {
        let run = |options| self.session.run_with(piece, options);
        match &self.teller {
            Some(teller) => teller.told(options, run, |reply| &reply.outcome).await,
            None => run(options).await,
        }
    }

    async fn variables(&self) -> Result<Variables, RunError> {
        self.session.variables().await
    }

    async fn branch(&self) -> Result<Self, RunError> {
        let session = self.session.branch().await?;
        Ok(LoggedSession { session, teller: self.teller.clone() })
    }

    async fn checkpoint(&self, name: &str) -> Result<(), RunError> {
        self.session.checkpoint(name).await
    }

    async fn rollback(&self, name: &str) -> Result<(), RunError> {
        self.session.rollback(name).await
    }

    async fn checkpoints(&self) -> Result<Vec<String>, RunError> {
        self.session.checkpoints().await
    }

    async fn drop_checkpoint(&self, name: &str) -> Result<(), RunError> {
        self.session.drop_checkpoint(name).await
    }

    async fn close(&self) {
        self.session.close().await;
    }

    async fn leave(&self) {
        self.session.leave().await;
    }

    async fn refresh(&self) {
        self.session.refresh().await;
    }

    fn check(&self) -> Result<(), RunError> {
        self.session.check()
    }
}
