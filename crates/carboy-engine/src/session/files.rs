//! Files that roll back with memory: when its first process is asked to keep them, and to put them back.
//!
//! A session whose policy asks for that has one line, so nobody writes when its head is stopped and the others
//! have ended. That is asked of the kernel before files are touched.

use std::sync::atomic::Ordering;
use std::time::Duration;

use carboy_protocol::{FromJar, KeptFiles, SessionFiles, ToJar};
use tokio::time::{Instant, sleep, timeout};

use crate::error::RunError;
use crate::facts::most_kept;
use crate::kernel::proc::{self, Status};
use crate::session::core::{Core, refused};
use crate::session::fork::ask;
use crate::tier::Jar;
use crate::tier::process::Head;

/// How long keeping files or putting them back may take.
const KEEP: Duration = Duration::from_secs(60);
/// How long the kernel may take to stop or end a process, and how often that is looked at.
const STILL: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_micros(500);

impl Core {
    /// Whether files roll back with memory.
    pub fn keeps_files(&self) -> bool {
        self.policy.session_files == SessionFiles::Rollback
    }

    /// Keeps the files as they are, to fall back on. These are the heads that could write; they were told to
    /// stop.
    pub async fn keep_files(&self, heads: [&Head; 2]) -> Result<(), RunError> {
        if !self.keeps_files() {
            return Ok(());
        }
        let pids = heads.map(|head| head.about().pid);
        if !until(|| pids.iter().all(|pid| proc::is_stopped(*pid))).await {
            return Err(refused("its files cannot be kept: it does not stop".into()));
        }
        let (folders, most_bytes) = (self.jar()?.writable(), most_kept(&self.policy.limits));
        self.do_with_files(KeptFiles::Keep { folders, most_bytes }).await
    }

    /// Keeps what was kept last under a number of its own, for a checkpoint.
    pub async fn share_files(&self) -> Result<u64, RunError> {
        if !self.keeps_files() {
            return Ok(0);
        }
        let number = self.files.fetch_add(1, Ordering::Relaxed) + 1;
        let most_bytes = most_kept(&self.policy.limits);
        self.do_with_files(KeptFiles::Share { number, most_bytes }).await?;
        Ok(number)
    }

    /// Keeps these files no longer.
    pub async fn forget_files(&self, number: u64) {
        if self.keeps_files() {
            // If it cannot, it is over.
            self.do_with_files(KeptFiles::Forget { number }).await.ok();
        }
    }

    /// Makes the files what they were, or ends the session.
    pub async fn restore_files(&self, number: u64) {
        let ended = self.routes.ended();
        let is_gone = |(pid, inner): &(u32, u32)| {
            // Another process may have its number by now.
            let is_it = Status::of(*pid).is_ok_and(|status| status.inner_number() == Some(*inner));
            !is_it || proc::has_ended(*pid)
        };
        if !until(|| ended.iter().all(is_gone)).await {
            return self.end("its files could not be restored: a head does not end");
        }
        let Ok(jar) = self.jar() else { return };
        let folders = jar.writable();
        if let Err(error) = self.do_with_files(KeptFiles::Restore { number, folders }).await {
            self.end(&format!("its files could not be restored: {error}"));
        }
    }

    /// Asks the first process. If it does not answer, the session is over.
    async fn do_with_files(&self, asked: KeptFiles) -> Result<(), RunError> {
        let _alone = self.forks.lock().await;
        self.check()?;
        let jar = self.jar()?;
        let said = timeout(KEEP, ask(jar.talk(), vec![], &ToJar::Files(asked))).await;
        match said {
            Ok(Ok(FromJar::Ready {})) => Ok(()),
            Ok(Ok(FromJar::Failed(failure))) => {
                let why = match failure.type_name.as_str() {
                    "Unkeepable" => failure.message,
                    "MemoryError" => "they need more memory than memory_bytes allows".into(),
                    other => format!("{other} (errno {})", failure.errno.unwrap_or(0)),
                };
                Err(refused(format!("its files cannot be kept: {why}")))
            }
            _ => {
                self.end("its first process does not answer");
                Err(self.ended())
            }
        }
    }
}

/// Waits until something is so, if that does not take too long.
async fn until(is_so: impl Fn() -> bool) -> bool {
    let end = Instant::now() + STILL;
    while !is_so() {
        if Instant::now() > end {
            return false;
        }
        sleep(LOOK).await;
    }
    true
}
