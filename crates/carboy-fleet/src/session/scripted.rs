//! A runner for tests: its sessions keep the codes that were run, and do what the code says.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use carboy_engine::{RequestError, RunError, RunOptions, Runner, SessionHandle, Sessions};
use carboy_protocol::pipe::FromEngine;
use carboy_protocol::{Job, Opening, Outcome, Piece, Reply, StateAfter, Variable, Variables};
use tokio::sync::Semaphore;

/// What tests see of it.
#[derive(Default)]
pub struct Seen {
    /// Sessions that are open.
    pub open: AtomicUsize,
    /// Runs that have begun.
    pub begun: AtomicUsize,
}

/// Holds sessions.
pub struct Scripted {
    pub seen: Arc<Seen>,
    /// One lets a run of `hold` end, or a session of which `code` is an input be opened.
    pub release: Arc<Semaphore>,
}

impl Scripted {
    pub fn new() -> Arc<Scripted> {
        Arc::new(Scripted { seen: Arc::default(), release: Arc::new(Semaphore::new(0)) })
    }
}

/// One session.
pub struct Line {
    codes: Mutex<Vec<String>>,
    kept: Mutex<Vec<(String, Vec<String>)>>,
    is_over: AtomicBool,
    seen: Arc<Seen>,
    release: Arc<Semaphore>,
}

impl Line {
    fn new(runner: &Scripted, codes: Vec<String>) -> Line {
        runner.seen.open.fetch_add(1, Ordering::SeqCst);
        Line {
            codes: Mutex::new(codes),
            kept: Mutex::default(),
            is_over: AtomicBool::new(false),
            seen: runner.seen.clone(),
            release: runner.release.clone(),
        }
    }

    fn codes(&self) -> Vec<String> {
        self.codes.lock().expect("a lock").clone()
    }

    fn end(&self) {
        if !self.is_over.swap(true, Ordering::SeqCst) {
            self.seen.open.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.end();
    }
}

pub fn outcome() -> Outcome {
    let golden = include_str!("../../../../golden/pipe/outcome_ok.json");
    match serde_json::from_str(golden).expect("a golden message") {
        FromEngine::Outcome { outcome, .. } => *outcome,
        other => panic!("{other:?}"),
    }
}

impl Runner for Scripted {
    async fn run_with(&self, _job: Job, options: RunOptions) -> Result<Outcome, RunError> {
        Ok(Outcome { id: options.id.unwrap_or_default(), ..outcome() })
    }

    async fn shutdown(&self) {}
}

impl Sessions for Scripted {
    type Session = Line;

    async fn session_with(&self, opening: Opening, _tenant: &str) -> Result<Line, RunError> {
        if !opening.inputs.is_empty() {
            self.release.acquire().await.expect("open").forget();
        }
        Ok(Line::new(self, vec![]))
    }
}

impl SessionHandle for Line {
    async fn run_with(&self, piece: Piece, mut options: RunOptions) -> Result<Reply, RunError> {
        self.check()?;
        self.seen.begun.fetch_add(1, Ordering::SeqCst);
        if let Some(begun) = options.begun.take() {
            begun.send(()).ok();
        }
        if let (Some(chunks), true) = (options.chunks.take(), piece.code == "talk") {
            let stream = carboy_protocol::Stream::Stdout;
            let chunk = carboy_engine::Chunk { stream, bytes: b"said\n".to_vec() };
            chunks.send(chunk).await.ok();
        }
        match piece.code.as_str() {
            "hold" => {
                let cancel = options.cancel.take();
                let cancelled = async {
                    if let Some(cancel) = cancel
                        && cancel.await.is_ok()
                    {
                        return;
                    }
                    std::future::pending().await
                };
                tokio::select! {
                    permit = self.release.acquire() => permit.expect("open").forget(),
                    () = cancelled => return Err(RunError::Cancelled),
                }
            }
            "die" => self.end(),
            _ => {}
        }
        self.codes.lock().expect("a lock").push(piece.code);
        let outcome = Outcome { id: options.id.unwrap_or_default(), ..outcome() };
        Ok(Reply { outcome, state: StateAfter::Kept, note: Some(self.codes().join(" ")) })
    }

    async fn variables(&self) -> Result<Variables, RunError> {
        self.check()?;
        let variable = |name: String| Variable { name, type_name: "int".into(), size: None };
        Ok(Variables { variables: self.codes().into_iter().map(variable).collect(), more: 0 })
    }

    async fn branch(&self) -> Result<Line, RunError> {
        self.check()?;
        let runner = Scripted { seen: self.seen.clone(), release: self.release.clone() };
        Ok(Line::new(&runner, self.codes()))
    }

    async fn checkpoint(&self, name: &str) -> Result<(), RunError> {
        self.kept.lock().expect("a lock").push((name.into(), self.codes()));
        Ok(())
    }

    async fn rollback(&self, name: &str) -> Result<(), RunError> {
        let kept = self.kept.lock().expect("a lock");
        let found = kept.iter().rev().find(|(known, _)| known == name);
        let (_, codes) = found.ok_or_else(|| RequestError::NoCheckpoint { name: name.into() })?;
        self.codes.lock().expect("a lock").clone_from(codes);
        Ok(())
    }

    async fn checkpoints(&self) -> Result<Vec<String>, RunError> {
        Ok(self.kept.lock().expect("a lock").iter().map(|(name, _)| name.clone()).collect())
    }

    async fn drop_checkpoint(&self, name: &str) -> Result<(), RunError> {
        self.kept.lock().expect("a lock").retain(|(known, _)| known != name);
        Ok(())
    }

    async fn close(&self) {
        self.end();
    }

    fn check(&self) -> Result<(), RunError> {
        if self.is_over.load(Ordering::SeqCst) {
            return Err(RequestError::SessionOver { why: "as the script says".into() }.into());
        }
        Ok(())
    }
}
