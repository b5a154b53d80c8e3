//! Rank: who yields to whom when the processor or the memory of the host is short.
//!
//! Jars yield the processor to the engine by their nice value. When memory runs out the kernel ends
//! what has the highest `oom_score_adj`: jars first, zygotes next, the engine last. Raising either value
//! of one's own needs no privilege.
//!
//! In full walls a jar has no `/proc` in which it could raise its score, and one that cannot be dumped
//! could not open the file either. So the zygote keeps its own file open, and has the score of a jar
//! while it forks one.

use std::io;
use std::os::fd::OwnedFd;

use carboy_protocol::SetupFault;
use carboy_sys::fds;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::process::{getpriority_process, setpriority_process};

use crate::fault::{OrFault, expect, fault};
use crate::plan::ZYGOTE_SCORE_FD;

const LAYER: &str = "rank";
const FILE: &str = "/proc/self/oom_score_adj";

/// The `oom_score_adj` of one process, which may be another than the one that holds this.
pub struct OomScore(OwnedFd);

impl OomScore {
    /// That of this process.
    pub(crate) fn open() -> Result<OomScore, SetupFault> {
        let file = openat(CWD, FILE, OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        Ok(OomScore(file.or_fault(LAYER, "open", FILE)?))
    }

    /// That of this zygote, which found it open when it was executed. Its number is free afterwards.
    pub fn inherited() -> io::Result<OomScore> {
        let first_free = crate::plan::SECCOMP_FD + 1;
        let file = rustix::io::fcntl_dupfd_cloexec(fds::inherited(ZYGOTE_SCORE_FD)?, first_free)?;
        Ok(OomScore(file))
    }

    /// Leaves it open at its number for what is executed next.
    pub(crate) fn leave(&self) -> Result<(), SetupFault> {
        fds::place(&self.0, ZYGOTE_SCORE_FD).or_fault("descriptors", "dup2", FILE)
    }

    /// What it is.
    pub fn get(&self) -> io::Result<i32> {
        let mut text = [0; 16];
        let count = rustix::io::pread(&self.0, &mut text, 0)?;
        let text = std::str::from_utf8(&text[..count]).map_err(io::Error::other)?;
        text.trim().parse().map_err(io::Error::other)
    }

    /// Sets it.
    pub fn set(&self, score: i32) -> io::Result<()> {
        rustix::io::write(&self.0, score.to_string().as_bytes())?;
        Ok(())
    }

    /// Sets it and reads it back.
    pub(crate) fn apply(&self, score: i32) -> Result<(), SetupFault> {
        self.set(score).or_fault(LAYER, "write", format_args!("{FILE}, {score}"))?;
        let found = self.get().or_fault(LAYER, "read", FILE)?;
        expect(LAYER, "oom_score_adj", found, score)
    }
}

/// Raises the nice value of this thread, from which all later ones inherit it, and reads it back.
pub(crate) fn yield_processor(nice: i32) -> Result<(), SetupFault> {
    setpriority_process(None, nice).or_fault(LAYER, "setpriority", nice)?;
    let found = getpriority_process(None).or_fault(LAYER, "getpriority", "")?;
    expect(LAYER, "nice value", found, nice)
}

/// A fault of the zygote while it gives a fork its rank.
pub fn rank_fault(error: &io::Error) -> SetupFault {
    fault(LAYER, "write", FILE, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_is_raised_read_back_and_lowered_to_where_it_was() {
        let score = OomScore::open().unwrap();
        let before = score.get().unwrap();
        score.apply(1000).unwrap();
        assert_eq!(score.get().unwrap(), 1000);
        score.apply(before).unwrap();
        let refused = score.apply(1001).unwrap_err();
        assert_eq!((refused.layer.as_str(), refused.step.as_str()), (LAYER, "write"));
    }

    #[test]
    fn a_thread_yields_and_cannot_yield_more_than_there_is() {
        // In a thread of its own: the value belongs to a thread, and cannot be lowered again.
        let yielded = std::thread::spawn(|| (yield_processor(7), yield_processor(20)));
        let (able, unable) = yielded.join().unwrap();
        able.unwrap();
        assert_eq!(unable.unwrap_err().step, "read back");
    }
}
