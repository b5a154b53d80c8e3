//! One line of a session: the head that runs its code, and the copy to fall back on.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard, oneshot};

use crate::error::RunError;
use crate::session::core::{Core, Counted, Ends, no_checkpoint, refused, words};
use crate::session::fork::Original;
use crate::tier::Jar;
use crate::tier::process::{Head, Purpose};

/// What is said if nobody knows more.
const NO_COPY: &str = "there was no copy of its state";

/// A copy of a head, and how many threads of it are not in the copy.
pub(super) struct Copy {
    pub head: Head,
    pub lost_threads: u64,
    /// The number of the files that belong to it, if they are kept. 0 is those after the last run.
    pub files: u64,
}

/// A head with what it may fall back on.
pub(super) struct Line {
    head: Option<Head>,
    /// The state that `head` had after its last run.
    backup: Option<Copy>,
    /// Why there is none.
    unprotected: Option<String>,
    /// The files to which it has to go back before anything runs.
    files_due: Option<u64>,
    pub checkpoints: BTreeMap<String, (Copy, Counted)>,
    /// Its place among the heads that are counted, until it is closed.
    counted: Option<Counted>,
}

impl Line {
    /// A line of this session whose head has not been copied yet.
    pub fn begin(core: &Core, head: Head, counted: Counted) -> Arc<Mutex<Line>> {
        let line = Arc::new(Mutex::new(Line {
            head: Some(head),
            backup: None,
            unprotected: None,
            files_due: None,
            checkpoints: BTreeMap::new(),
            counted: Some(counted),
        }));
        let same: Arc<dyn Ends> = line.clone();
        core.ends(Arc::downgrade(&same));
        line
    }

    /// Takes the head out, to do something with it. If it is dropped instead of [kept](Line::keep), the
    /// line falls back.
    pub fn take(&mut self, core: &Core) -> Result<Head, RunError> {
        if self.counted.is_none() {
            return Err(words(None));
        }
        if self.head.is_none() {
            self.fall_back(core);
        }
        if self.files_due.is_some() {
            core.end("its files could not be restored: nobody did it");
        }
        core.check()?;
        self.head.take().ok_or_else(|| refused("the session has no state left".into()))
    }

    /// Why there is no copy to fall back on, if there is none.
    pub fn unprotected(&self) -> Option<&str> {
        let why = self.unprotected.as_deref().unwrap_or(NO_COPY);
        self.backup.is_none().then_some(why)
    }

    /// The head goes on from the state that it has.
    pub fn keep(&mut self, head: Head) {
        self.head = Some(head);
    }

    /// Goes on from the state after the last run that was kept; how many threads that lacks. Without such
    /// a copy the session is over.
    pub fn fall_back(&mut self, core: &Core) -> Option<u64> {
        self.head = None;
        let Some(copy) = self.backup.take() else {
            let why = self.unprotected.as_deref().unwrap_or(NO_COPY);
            core.end(&format!("a run ended it, and {why}"));
            return None;
        };
        self.head = Some(copy.head);
        self.files_due = core.keeps_files().then_some(copy.files);
        Some(copy.lost_threads)
    }

    /// Copies the head, as something of its own.
    pub async fn copy(&mut self, core: &Core, purpose: Purpose) -> Result<Head, RunError> {
        let mut head = self.take(core)?;
        let threads = head.threads();
        if threads > 0 {
            self.keep(head);
            return Err(refused(format!(
                "the session has {threads} threads beside the main one, which a copy would lack; end \
                 them first (libraries such as polars and duckdb keep theirs once they were used)"
            )));
        }
        let copied = core.fork(Original::Head(&mut head), purpose).await;
        self.keep(head);
        copied
    }

    /// Copies the head for a checkpoint, with the files as they are now: those that were kept may be of an
    /// earlier run, if there was no copy after the last.
    pub async fn copy_with_files(&mut self, core: &Core) -> Result<Copy, RunError> {
        let head = self.copy(core, Purpose::Succession).await?;
        if let Some(original) = &self.head
            && let Err(error) = core.keep_files([original, &head]).await
        {
            // What was kept before was given up on the way.
            self.backup = None;
            self.unprotected = Some(error.to_string());
            return Err(error);
        }
        let files = core.share_files().await?;
        Ok(Copy { head, lost_threads: 0, files })
    }

    /// Copies a checkpoint, and goes on from there.
    pub async fn roll_back(&mut self, core: &Core, name: &str) -> Result<(), RunError> {
        let Some((copy, _)) = self.checkpoints.get_mut(name) else {
            return Err(no_checkpoint(name));
        };
        let mut head = core.fork(Original::Head(&mut copy.head), Purpose::Succession).await?;
        // The checkpoint runs nothing that could be charged with it.
        head.charge(copy.head.cpu_us().unwrap_or(0));
        copy.head.settle();
        self.head = Some(head);
        self.backup = None;
        self.files_due = core.keeps_files().then_some(copy.files);
        Ok(())
    }

    /// Ends its heads.
    pub fn close(&mut self) {
        self.head = None;
        self.backup = None;
        self.checkpoints.clear();
        self.counted = None;
    }
}

impl Ends for Mutex<Line> {
    fn end(self: Arc<Self>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(async move { self.lock().await.close() })
    }
}

/// Copies the head of a line for the time when a run ends it, off the path of whoever asked for its last
/// run. Nothing else is done with the line meanwhile. Who waits for what this returns waits until files are
/// back, or the session is over for want of that.
pub(super) fn protect(
    core: Arc<Core>,
    mut line: OwnedMutexGuard<Line>,
) -> oneshot::Receiver<Infallible> {
    let (restoring, restored) = oneshot::channel();
    core.clone().spawn(async move {
        let Ok(_using) = core.begin_use() else { return };
        if let Some(number) = line.files_due.take() {
            core.restore_files(number).await;
        }
        drop(restoring);
        let Some(mut head) = line.head.take() else { return };
        let lost_threads = head.threads();
        let mut copied = core.fork(Original::Head(&mut head), Purpose::Backup).await;
        if let Ok(copy) = &copied
            && let Err(error) = core.keep_files([&head, copy]).await
        {
            copied = Err(error);
        }
        line.keep(head);
        // What was there before is older than what the caller has seen.
        line.backup = None;
        match copied {
            Ok(head) => {
                line.backup = Some(Copy { head, lost_threads, files: 0 });
                line.unprotected = None;
            }
            Err(error) => line.unprotected = Some(error.to_string()),
        }
    });
    restored
}
