//! What the kernel shows of a process from outside, in `/proc`.
//!
//! Everything starts from a pidfd: the number it stands for is read from the kernel, and the
//! process is checked to be still there after reading, so that what was read is of no other.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::process::{Signal, pidfd_send_signal};

use crate::planning::Baseline;

/// The process behind a pidfd, in our pid namespace.
pub(crate) fn pid_of(pidfd: impl AsFd) -> io::Result<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_fd().as_raw_fd()))?;
    field(&info, "Pid:")
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the process has ended"))
}

/// The value of a line `name value` in a file of `/proc`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Sends SIGKILL. A process that has ended already is as dead as it should be.
pub(crate) fn kill(pidfd: impl AsFd) {
    pidfd_send_signal(pidfd, Signal::KILL).ok();
}

/// `/proc/PID/status`.
#[derive(Clone, Debug)]
pub(crate) struct Status(String);

impl Status {
    pub fn of(pid: u32) -> io::Result<Status> {
        fs::read_to_string(format!("/proc/{pid}/status")).map(Status)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.first(name).and_then(|word| word.parse().ok())
    }

    /// A value in kilobytes, as bytes.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.number(name).map(|kilobytes| kilobytes * 1024)
    }

    pub fn first(&self, name: &str) -> Option<&str> {
        field(&self.0, name).and_then(|value| value.split_whitespace().next())
    }
}

/// What a process holds now.
pub(crate) fn memory(pid: u32) -> io::Result<Baseline> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match (pages.first(), pages.get(5)) {
        (Some(all), Some(data)) => {
            let page = rustix::param::page_size() as u64;
            Ok(Baseline { data_bytes: data * page, address_bytes: all * page })
        }
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "statm is not as expected")),
    }
}
