//! The end of a process that was killed, in its two steps: nothing of it runs any more, and it is gone.
//!
//! Between the two the kernel takes its memory and its namespaces down, which takes longer than most runs.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::kernel::async_fd::ready_now;
use crate::kernel::proc;

/// How long the kernel may take to end a killed process.
pub(crate) const REAP: Duration = Duration::from_secs(10);
/// How often it is looked again at once, before there is a pause between two looks.
const AT_ONCE: u32 = 20;
/// The first pause and the longest.
const PAUSES: [Duration; 2] = [Duration::from_micros(50), Duration::from_millis(2)];

/// A process that was killed, and is the first and only one of its jar.
#[derive(Debug)]
pub(crate) struct Killed {
    pidfd: OwnedFd,
    pid: u32,
}

impl Killed {
    /// The process behind a pidfd, whose number is `pid`.
    pub fn new(pidfd: impl AsFd, pid: u32) -> io::Result<Killed> {
        Ok(Killed { pidfd: pidfd.as_fd().try_clone_to_owned()?, pid })
    }

    /// Waits until no thread of it can make a system call or run code any more; false if that takes longer than
    /// `most`. Only the kernel itself may still write a word of its memory, for whoever waits for a lock.
    pub fn wait_until_still(&self, most: Duration) -> io::Result<bool> {
        let end = Instant::now() + most;
        let mut looks = 0;
        let [mut pause, longest] = PAUSES;
        loop {
            let stat = proc::stat(format!("/proc/{}/stat", self.pid));
            // Looked at after the number was: while the process is there, the number is its own.
            if self.has_ended()? || stat.is_ok_and(|stat| is_still(&stat)) {
                return Ok(true);
            }
            if Instant::now() >= end {
                return Ok(false);
            }
            looks += 1;
            if looks < AT_ONCE {
                thread::yield_now();
            } else {
                self.wait(pause)?;
                pause = (2 * pause).min(longest);
            }
        }
    }

    /// Waits until it is gone; false if that takes longer than `most`.
    pub fn wait_until_ended(&self, most: Duration) -> io::Result<bool> {
        let end = Instant::now() + most;
        while !self.has_ended()? {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.wait(left)?;
        }
        Ok(true)
    }

    fn has_ended(&self) -> io::Result<bool> {
        Ok(!ready_now(&self.pidfd)?.is_empty())
    }

    /// Waits for its end, but not longer than that.
    fn wait(&self, most: Duration) -> io::Result<()> {
        let most = Timespec { tv_sec: most.as_secs() as i64, tv_nsec: most.subsec_nanos().into() };
        match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&most)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

/// Whether a `/proc/PID/stat` of a killed process shows that one thread is left of it, and that this one has the
/// kernel's `PF_EXITING`. The kernel takes a thread off the count when it is gone, and none can be added to
/// a process that is being killed; it reads the count before the flags.
fn is_still(stat: &str) -> bool {
    const PF_EXITING: u64 = 0x4;
    // The name in parentheses is the process's own choice, so fields are counted behind it.
    let Some((_, behind)) = stat.rsplit_once(')') else { return false };
    let field = |place| behind.split_whitespace().nth(place)?.parse::<u64>().ok();
    field(6).is_some_and(|flags| flags & PF_EXITING != 0) && field(17) == Some(1)
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;

    #[test]
    fn one_thread_that_is_ending_is_still() {
        let stat = |flags: u32, threads: u32| {
            format!("7 (a ) 4 4) R 1 7 7 0 -1 {flags} 100 0 0 0 0 0 0 0 20 0 {threads} 0 9 8 7\n")
        };
        assert!(is_still(&stat(0x40_0144, 1)));
        assert!(!is_still(&stat(0x40_0140, 1)));
        assert!(!is_still(&stat(0x40_0144, 2)));
        // What the kernel shows of one that it has no count of any more.
        assert!(!is_still(&stat(0x40_0144, 0)));
        assert!(!is_still("7 (cut"));
    }

    #[test]
    fn only_a_killed_process_comes_to_its_end() {
        let mut child = Command::new("sleep").arg("600").stdout(Stdio::null()).spawn().unwrap();
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).unwrap();
        let killed = Killed::new(&pidfd, child.id()).unwrap();
        let moment = Duration::from_millis(5);
        assert!(!killed.wait_until_still(moment).unwrap());
        assert!(!killed.wait_until_ended(moment).unwrap());
        child.kill().unwrap();
        let long = Duration::from_secs(60);
        assert!(killed.wait_until_still(long).unwrap());
        assert!(killed.wait_until_ended(long).unwrap());
        child.wait().unwrap();
        assert!(killed.wait_until_still(moment).unwrap());
    }
}
