//! Sessions: code that is run piece by piece and keeps its state.
//!
//! The first process of a session's jar forks and reaps, and runs no code. Below it stand heads: processes
//! that run code and are kept when they have answered. After each run the head is copied, so a run that
//! dies leaves the state as it was before it. A branch is a copy that is handed out, a checkpoint one that
//! is kept by name. Whatever heads say is a guest's word; what they are is asked of the kernel.

mod core;
mod files;
mod fork;
mod handle;
mod line;
mod router;
mod told;
mod turn;

use std::sync::Arc;
use std::time::Instant;

use carboy_protocol::{
    Job, JobFrame, Kind, LanguageProfile, Limits, Outcome, Piece, Policy, Reply, StateAfter, ToJar,
    Variables, Walls,
};
use tokio::sync::{Mutex, oneshot};

use crate::admit::gate::Needs;
use crate::admit::{outcome, request};
use crate::error::RunError;
use crate::facts::Ending;
use crate::kernel::id::new_id;
use crate::run::{self, Contact};
use crate::runner::{Artifacts, RunOptions};
use crate::session::core::{Core, no_checkpoint, refused};
use crate::session::fork::{Original, drain};
use crate::session::line::{Line, protect};
use crate::session::told::{MAX_NAME, MAX_VARIABLES, bounded, strays};
use crate::session::turn::{Closing, Turn, files_back, to_the_end};
use crate::tier::Jar;
use crate::tier::process::Purpose;
use crate::verdict::Given;

pub(crate) use self::core::Core as SessionCore;
pub use self::handle::{SessionHandle, Sessions};

/// How long telling them may take.
const VARIABLES_MS: u64 = 5_000;
/// How many bytes that may have, if a policy allows results less: so many with the longest names.
const VARIABLES_BYTES: u64 = MAX_VARIABLES * 16 * MAX_NAME as u64;

/// Code that is run piece by piece and keeps its state. One piece runs at a time; branches run beside each
/// other. Dropping it ends it, and dropping what was opened first ends its branches too.
pub struct Session {
    core: Arc<Core>,
    line: Arc<Mutex<Line>>,
    is_first: bool,
    closing: Closing,
}

/// An error if a session cannot be held under this policy.
pub fn check(policy: &Policy) -> Result<(), RunError> {
    let why = if policy.walls != Walls::Full {
        "in nested walls a session cannot be held: there is no pid namespace in which a copy of a process \
         could be granted and ended with the rest; use walls = \"full\""
    } else if policy.language.profile != LanguageProfile::Open {
        "under a language profile a session cannot be held yet: the guard judges whole programs; use \
         language.profile = \"open\""
    } else if policy.limits.processes > 0 {
        "a session cannot be granted child processes; set limits.processes to 0"
    } else {
        return Ok(());
    };
    Err(refused(why.into()))
}

impl Session {
    /// A session in a jar that has not been sent anything. `None` if the jar's limits were set before it was
    /// known what is imported in it.
    pub(crate) async fn begin(core: Arc<Core>) -> Result<Option<Session>, RunError> {
        let _using = core.begin_use()?;
        let counted = core.count()?;
        let mut head = core.fork(Original::First, Purpose::Succession).await?;
        if !head.late().is_empty() {
            head.wake();
            head.runs(true);
            let imported = run::import(&mut head, &core.policy.limits).await?;
            head.runs(false);
            head.hush();
            if !imported || !head.rebase()? {
                return Ok(None);
            }
        }
        // What it took to make it is nobody's.
        head.settle();
        let line = Line::begin(&core, head, counted);
        let session = Session { core, line, is_first: true, closing: Closing::new() };
        protect(session.core.clone(), session.line.clone().lock_owned().await);
        Ok(Some(session))
    }

    /// Runs code; what it defines is there for the next.
    pub async fn run(&self, code: impl Into<String>) -> Result<Reply, RunError> {
        let piece = Piece { code: code.into(), ..Piece::default() };
        self.run_with(piece, RunOptions::default()).await
    }

    /// Runs code with inputs and tools, with output as it comes or a way to cancel it.
    pub async fn run_with(&self, piece: Piece, options: RunOptions) -> Result<Reply, RunError> {
        let job =
            Job { code: piece.code, inputs: piece.inputs, tools: piece.tools, ..Job::default() };
        request::check(&job, &options)?;
        let mut limits = self.core.policy.limits.clone();
        limits.wall_ms = limits.wall_ms.min(piece.wall_ms.unwrap_or(u64::MAX));
        self.run_job(job, &limits, options, piece.rollback).await
    }

    /// Hands its code the variables that it is opened with. The files of frames are in its jar.
    pub(crate) async fn lay_out(&self, job: Job) -> Result<(), RunError> {
        let options = RunOptions { artifacts: Artifacts::None, ..RunOptions::default() };
        let limits = self.core.policy.limits.clone();
        let reply = self.run_job(job, &limits, options, false).await?;
        reply.outcome.error.map_or(Ok(()), |error| {
            let what = error.message;
            Err(refused(format!("what the session is opened with cannot be laid out: {what}")))
        })
    }

    async fn run_job(
        &self,
        mut job: Job,
        limits: &Limits,
        options: RunOptions,
        rollback: bool,
    ) -> Result<Reply, RunError> {
        let policy = &self.core.policy;
        let given = Given::of(&job);
        let frames = request::frames(&mut job);
        let code = Arc::new(job.code);
        let frame = JobFrame {
            code: code.clone(),
            frames,
            inputs: job.inputs,
            environment: self.core.environment.clone(),
            guard: None,
            tools: job.tools.clone(),
            strict: policy.strict,
            displays: run::display_frame(policy),
        };
        let message = Message { frame: ToJar::Job(frame), code, given, tools: job.tools };
        // In a box: what a run holds is large, and callers have futures of their own.
        Box::pin(self.perform(message, limits, options, rollback)).await
    }

    /// What the code has defined: names, types, and sizes where they are known. It is the code's own word.
    pub async fn variables(&self) -> Result<Variables, RunError> {
        let result_bytes = self.core.policy.limits.result_bytes.max(VARIABLES_BYTES);
        let limits =
            Limits { wall_ms: VARIABLES_MS, result_bytes, ..self.core.policy.limits.clone() };
        let message = Message {
            frame: ToJar::Variables { most: MAX_VARIABLES },
            code: Arc::default(),
            given: Given::of(&Job::default()),
            tools: vec![],
        };
        let options = RunOptions { artifacts: Artifacts::None, ..RunOptions::default() };
        let Reply { outcome, state, note } =
            Box::pin(self.perform(message, &limits, options, false)).await?;
        let told = outcome.result.and_then(|result| serde_json::from_str(result.get()).ok());
        // What the code says about it is not the engine's word.
        let lost = if state == StateAfter::Kept { "" } else { ", and went back to its copy" };
        let note = note.map(|note| format!(": {note}")).unwrap_or_default();
        told.map(bounded)
            .ok_or_else(|| refused(format!("the session could not tell its variables{lost}{note}")))
    }

    /// Does what takes the line's turn and a place among those that run.
    async fn perform(
        &self,
        message: Message,
        limits: &Limits,
        options: RunOptions,
        rollback: bool,
    ) -> Result<Reply, RunError> {
        let core = &self.core;
        let _using = core.begin_use()?;
        let (id, asked) = (options.id.map_or_else(new_id, Ok)?, Instant::now());
        let mut cancel = options.cancel;
        let admitted = async {
            let line = self.line.clone().lock_owned().await;
            let place =
                core.gate.enter(&options.tenant, Needs::default(), options.deadline).await?;
            Ok::<_, RunError>((line, place))
        };
        let in_time = async {
            match options.deadline {
                None => admitted.await,
                Some(deadline) => tokio::time::timeout_at(deadline.into(), admitted)
                    .await
                    .map_err(|_| RunError::Busy(core.gate.late()))?,
            }
        };
        let (mut line, _place) = tokio::select! {
            both = in_time => both?,
            () = run::cancelled(&mut cancel) => return Err(RunError::Cancelled),
        };
        // From here on a future that is dropped ends the head, and then the line falls back.
        let mut turn = Turn::new(core, &self.closing);
        let mut head = line.take(core)?;
        let unprotected = line.unprotected().map(str::to_owned);
        turn.begins(line);
        let queue_ms = asked.elapsed().as_secs_f64() * 1e3;
        let (stop, stopped) = oneshot::channel();
        let contact = Contact {
            sink: options.chunks,
            cancel: Some(stopped),
            tools: &message.tools,
            host: options.tools,
            run: &id,
            artifacts: options.artifacts,
            owed: std::mem::take(&mut head.owed),
        };
        drain(head.talk().1);
        head.runs(true);
        if let Some(begun) = options.begun {
            begun.send(()).ok(); // Whoever wanted to know may be gone.
        }
        let ran = tokio::select! {
            ran = Box::pin(run::run(&mut head, message.frame, limits, contact)) => ran,
            never = self.closing.or(cancel, stop) => match never {},
        };
        head.hush();
        head.runs(false);
        head.settle();
        let mut record = match ran {
            Ok(record) => record,
            Err(error) => {
                drop(head);
                turn.settle(None).await;
                core.check()?;
                return Err(error.into());
            }
        };
        // A run that ended with its session did not crash.
        if core.check().is_err() && matches!(record.ending, Ending::Gone | Ending::PipeClosed) {
            record.ending = Ending::Cancelled;
        }
        head.owed = std::mem::take(&mut record.owed);
        if core.is_given_files {
            record.facts.leave_out_files();
        }
        let isolation = head.about().isolation.clone();
        let mut outcome =
            outcome(id, queue_ms, record, limits, &message.code, &message.given, isolation);
        outcome.denials.extend(strays(head.strays()));
        let keeps = keeps(&outcome, rollback) && head.is_alive();
        let (state, note) = turn.settle(keeps.then_some(head)).await;
        let without =
            unprotected.map(|why| format!("the run had no copy of the state to go back to: {why}"));
        Ok(Reply { outcome, state, note: note.or(without) })
    }

    /// A copy of this session, which goes on beside it. Files are shared.
    pub async fn branch(&self) -> Result<Session, RunError> {
        let using = self.core.begin_use()?;
        if self.core.keeps_files() {
            return Err(refused(
                "a session whose files roll back has no branches, which would share its files; use \
                 session_files = \"shared\", or checkpoints"
                    .into(),
            ));
        }
        let counted = self.core.count()?;
        let (core, mut line) = (self.core.clone(), self.line.clone().lock_owned().await);
        let copied = to_the_end(async move {
            let _using = using;
            line.copy(&core, Purpose::Branch).await
        });
        let line = Line::begin(&self.core, copied.await?, counted);
        let closing = Closing::new();
        let branch = Session { core: self.core.clone(), line, is_first: false, closing };
        protect(branch.core.clone(), branch.line.clone().lock_owned().await);
        Ok(branch)
    }

    /// Keeps the state as it is now under a name. One of that name is replaced.
    pub async fn checkpoint(&self, name: &str) -> Result<(), RunError> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(refused(format!("the name of a checkpoint has 1 to {MAX_NAME} bytes")));
        }
        let using = self.core.begin_use()?;
        let (core, mut line) = (self.core.clone(), self.line.clone().lock_owned().await);
        let name = name.to_owned();
        to_the_end(async move {
            let _using = using;
            let has_place = line.checkpoints.contains_key(&name);
            let counted = if has_place { None } else { Some(core.count()?) };
            let copy = line.copy_with_files(&core).await?;
            let replaced = line.checkpoints.remove(&name);
            if let Some((old, _)) = &replaced {
                core.forget_files(old.files).await;
            }
            let counted = counted.or(replaced.map(|(_, counted)| counted));
            let counted = counted.map_or_else(|| core.count(), Ok)?;
            line.checkpoints.insert(name, (copy, counted));
            Ok(())
        })
        .await
    }

    /// Goes back to the state that was kept under this name, which stays.
    pub async fn rollback(&self, name: &str) -> Result<(), RunError> {
        let using = self.core.begin_use()?;
        let (core, mut line) = (self.core.clone(), self.line.clone().lock_owned().await);
        let name = name.to_owned();
        to_the_end(async move {
            let _using = using;
            line.roll_back(&core, &name).await?;
            let restored = protect(core.clone(), line);
            files_back(&core, restored).await
        })
        .await
    }

    /// The names of what is kept.
    pub async fn checkpoints(&self) -> Result<Vec<String>, RunError> {
        let _using = self.core.begin_use()?;
        Ok(self.line.lock().await.checkpoints.keys().cloned().collect())
    }

    /// Forgets what is kept under this name.
    pub async fn drop_checkpoint(&self, name: &str) -> Result<(), RunError> {
        let using = self.core.begin_use()?;
        let (core, mut line) = (self.core.clone(), self.line.clone().lock_owned().await);
        let found = line.checkpoints.remove(name);
        let found = found.ok_or_else(|| no_checkpoint(name))?;
        to_the_end(async move {
            let (_using, _line) = (using, line);
            core.forget_files(found.0.files).await;
            Ok(())
        })
        .await
    }

    /// Ends it, and waits until nothing of it is left. What was opened first takes its branches along.
    pub async fn close(&self) {
        if self.is_first {
            self.core.end("it was closed");
            self.core.gone().await;
        } else {
            self.closing.close();
            self.line.lock().await.close();
        }
    }

    /// An error if it is over, which says why.
    pub fn check(&self) -> Result<(), RunError> {
        self.core.check()
    }

    /// The first process of its jar, which runs no code.
    pub fn process(&self) -> u32 {
        self.core.process()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.is_first {
            self.core.end("it was closed");
        }
    }
}

/// What a head is told, and what is known about it here.
struct Message {
    frame: ToJar,
    code: Arc<String>,
    given: Given,
    tools: Vec<carboy_protocol::Tool>,
}

/// Whether the state that a run came to is the session's from now on: it ended well, or in an exception
/// that is not for want of anything.
fn keeps(outcome: &Outcome, rollback: bool) -> bool {
    match &outcome.error {
        None => true,
        Some(_) if rollback => false,
        Some(error) => !matches!(error.kind, Kind::Limit | Kind::Cancelled),
    }
}
