//! What the kernel shows of a process from outside, in `/proc`.
//!
//! Every number comes from the kernel: from a pidfd, or from a call that waits for our answer.
//! What is read under it is a fact for the record; nothing is ever signalled by number.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Signal, pidfd_send_signal};

/// The process behind a pidfd, in our pid namespace.
pub(crate) fn pid_of(pidfd: impl AsFd) -> io::Result<u32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_fd().as_raw_fd()))?;
    field(&info, "Pid:")
        .and_then(|value| value.parse().ok())
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the process has ended"))
}

/// The value of a line `name value` in a file of `/proc`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = text;
    loop {
        let at = rest.find(name)?;
        let begins = at == 0 || rest.as_bytes()[at - 1] == b'\n';
        rest = &rest[at + name.len()..];
        if begins {
            return rest.lines().next().map(str::trim);
        }
    }
}

/// Sends SIGKILL. A process that has ended already is as dead as it should be.
pub(crate) fn kill(pidfd: impl AsFd) {
    pidfd_send_signal(pidfd, Signal::KILL).ok();
}

/// A `/proc/PID/stat`, or that of a thread. The name in it is what the process chose, and need not be text.
pub(crate) fn stat(path: impl AsRef<Path>) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned())
}

/// Whether an error says that a process or a thread is not there any more. Others say nothing about it.
fn says_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(Errno::SRCH.raw_os_error())
}

/// Whose child a process is, as long as it was not waited for.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    let stat = stat(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Whether something is true of the `stat` of every thread of a process that is not gone.
fn every_thread(pid: u32, says: impl Fn(&str) -> bool) -> bool {
    let threads = match fs::read_dir(format!("/proc/{pid}/task")) {
        Ok(threads) => threads,
        Err(error) => return says_gone(&error),
    };
    threads.flatten().all(|thread| match stat(thread.path().join("stat")) {
        Ok(stat) => says(&stat),
        Err(error) => says_gone(&error),
    })
}

/// Whether every thread of a process is in one of these states, or gone. A single letter as `/proc` has it.
fn threads_are(pid: u32, states: &[&str]) -> bool {
    every_thread(pid, |stat| {
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().next());
        state.is_some_and(|state| states.contains(&state))
    })
}

/// Whether a process that was told to [stop] has stopped, or ended.
pub(crate) fn is_stopped(pid: u32) -> bool {
    threads_are(pid, &["T", "t", "Z", "X"])
}

/// Whether a process has ended with all its threads. They write nothing any more, nor does the kernel for them.
pub(crate) fn has_ended(pid: u32) -> bool {
    threads_are(pid, &["Z", "X"])
}

/// Whether every thread of a process has begun to end, although the process may not have ended yet: its
/// descriptors close before its end can be seen, and on a busy machine much lies in between.
pub(crate) fn is_ending(pid: u32) -> bool {
    every_thread(pid, says_ending)
}

/// Whether the flags in a `/proc/PID/stat` have the kernel's `PF_EXITING`.
fn says_ending(stat: &str) -> bool {
    const PF_EXITING: u64 = 0x4;
    // The name in parentheses is the process's own choice, so fields are counted behind it.
    let flags = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6));
    flags.and_then(|flags| flags.parse::<u64>().ok()).is_some_and(|flags| flags & PF_EXITING != 0)
}

/// How a process that has ended and was not waited for yet did end: its exit code, or the signal. Nothing if the
/// kernel says 0: newer ones say that to everybody who may not trace a process that is not dumpable.
pub(crate) fn ended_with(pid: u32) -> Option<(Option<i32>, Option<i32>)> {
    let stat = stat(format!("/proc/{pid}/stat")).ok()?;
    says_ended_with(&stat).filter(|ended| *ended != (Some(0), None))
}

/// What the last field of a `/proc/PID/stat` says: the status that `wait` gives.
fn says_ended_with(stat: &str) -> Option<(Option<i32>, Option<i32>)> {
    let (_, rest) = stat.rsplit_once(')')?;
    let status: i32 = rest.split_whitespace().nth(49)?.parse().ok()?;
    let signal = status & 0x7f;
    Some(if signal == 0 { (Some(status >> 8 & 0xff), None) } else { (None, Some(signal)) })
}

/// What a descriptor leads to: the mount and the number of the inode there. Pipes, sockets and the like lie on
/// mounts of the kernel's own, which are nobody's.
pub(crate) type FileId = (u64, u64);

/// What a descriptor of our own leads to.
pub(crate) fn file_id(descriptor: impl AsFd) -> io::Result<FileId> {
    says_file_id(&format!("/proc/self/fdinfo/{}", descriptor.as_fd().as_raw_fd()))
}

/// What every descriptor of a process leads to, by its number. Unlike their names in `/proc/PID/fd` this can be
/// read of a process that is not dumpable.
pub(crate) fn descriptors(pid: u32) -> io::Result<Vec<(u32, FileId)>> {
    let mut found = vec![];
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let number = name.parse().map_err(io::Error::other)?;
        found.push((number, says_file_id(&format!("/proc/{pid}/fdinfo/{name}"))?));
    }
    Ok(found)
}

fn says_file_id(path: &str) -> io::Result<FileId> {
    let info = fs::read_to_string(path)?;
    let number = |name| field(&info, name).and_then(|value| value.parse().ok());
    let found = number("mnt_id:").zip(number("ino:"));
    found.ok_or_else(|| io::Error::other("the kernel does not say what a descriptor leads to"))
}

/// The numbers of the mounts that a process sees.
pub(crate) fn mounts(pid: u32) -> io::Result<Vec<u64>> {
    let text = fs::read_to_string(format!("/proc/{pid}/mountinfo"))?;
    Ok(text.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect())
}

/// Stops every thread of a process until it is [woken](wake). It cannot prevent that.
pub(crate) fn stop(pidfd: impl AsFd) {
    pidfd_send_signal(pidfd, Signal::STOP).ok();
}

/// Lets a process that was stopped go on.
pub(crate) fn wake(pidfd: impl AsFd) {
    pidfd_send_signal(pidfd, Signal::CONT).ok();
}

/// `/proc/PID/status`, as it was when it was read.
#[derive(Clone, Debug)]
pub(crate) struct Status(String);

impl Status {
    pub fn of(pid: u32) -> io::Result<Status> {
        Status::read(&Status::open(pid)?)
    }

    /// Opens it, to be read more than once.
    pub fn open(pid: u32) -> io::Result<fs::File> {
        fs::File::open(format!("/proc/{pid}/status"))
    }

    /// Reads it, in one call.
    pub fn read(file: &fs::File) -> io::Result<Status> {
        // Nearly always enough; a user in hundreds of groups has a longer one.
        let mut text = vec![0; 4096];
        let mut length = file.read_at(&mut text, 0)?;
        while length == text.len() {
            text.resize(2 * length, 0);
            length = file.read_at(&mut text, 0)?;
        }
        Ok(Status(String::from_utf8_lossy(&text[..length]).into_owned()))
    }

    /// This, or the status of another thread if the first thread has ended: then only the others
    /// still show the memory that all of them share.
    pub fn with_memory(self, pid: u32) -> Status {
        if self.first("VmHWM:").is_some() {
            return self;
        }
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let mut others = threads.filter_map(|thread| {
            let status = Status::read(&fs::File::open(thread.path().join("status")).ok()?).ok()?;
            status.first("VmHWM:").is_some().then_some(status)
        });
        others.next().unwrap_or(self)
    }

    pub fn number(&self, name: &str) -> Option<u64> {
        self.first(name).and_then(|word| word.parse().ok())
    }

    /// A value in kilobytes, as bytes.
    pub fn bytes(&self, name: &str) -> Option<u64> {
        self.number(name).map(|kilobytes| kilobytes * 1024)
    }

    /// Memory that a process holds and no file backs: resident, in swap, in huge pages, and the page
    /// tables, which a few pages far apart make larger than all the rest.
    pub fn held_bytes(&self) -> u64 {
        let counts = ["RssAnon:", "VmSwap:", "HugetlbPages:", "VmPTE:"];
        counts.iter().filter_map(|name| self.bytes(name)).sum()
    }

    /// The number of the process in the innermost pid namespace that it is in.
    pub fn inner_number(&self) -> Option<u32> {
        field(&self.0, "NSpid:")?.split_whitespace().last()?.parse().ok()
    }

    pub fn first(&self, name: &str) -> Option<&str> {
        field(&self.0, name).and_then(|value| value.split_whitespace().next())
    }
}

/// The private memory that the children of a process, and theirs, hold beyond what each of them began
/// with. What has ended holds nothing.
pub(crate) fn children_hold(pid: u32, began_with: u64) -> u64 {
    let held = |child: &u32| held_bytes(*child).saturating_sub(began_with);
    descendants(pid).iter().map(held).sum()
}

/// The private memory that a process and all below it hold, with pages that several of them share
/// counted once. What they share with others counts in part, so this may be more than they added to
/// what they began with, but not less.
///
/// It walks the page tables of each of them, so it is not for the engine's thread.
pub(crate) fn hold_together(pid: u32) -> u64 {
    let held = |pid: &u32| {
        let Ok(rollup) = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")) else {
            return held_bytes(*pid);
        };
        let rollup = Status(rollup);
        let shares = ["Pss_Anon:", "SwapPss:"].iter().filter_map(|name| rollup.bytes(name));
        // Nobody shares these.
        let status = Status::of(*pid).ok().map(|status| status.with_memory(*pid));
        let own = ["HugetlbPages:", "VmPTE:"];
        let own = status.map_or(0, |status| own.iter().filter_map(|name| status.bytes(name)).sum());
        shares.sum::<u64>() + own
    };
    held(&pid) + descendants(pid).iter().map(held).sum::<u64>()
}

/// What a process holds; nothing if it has ended.
fn held_bytes(pid: u32) -> u64 {
    let status = Status::of(pid).ok().map(|status| status.with_memory(pid));
    status.map_or(0, |status| status.held_bytes())
}

/// Every process below this one.
fn descendants(pid: u32) -> Vec<u32> {
    let mut found = children(pid);
    let mut next = 0;
    while let Some(child) = found.get(next) {
        found.extend(children(*child));
        next += 1;
    }
    found
}

/// The children of a process: any of its threads may have forked.
pub(crate) fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut children = Vec::new();
    for thread in threads {
        let listed = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(listed.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
    }
    children
}

/// Every mapping of a process with its flags: `/proc/PID/smaps`.
pub(crate) fn mappings(pid: u32) -> io::Result<String> {
    // A name may hold any bytes.
    let text = fs::read(format!("/proc/{pid}/smaps"))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// How soon the kernel ends a process when memory runs out.
pub(crate) fn oom_score_adj(pid: u32) -> io::Result<String> {
    Ok(fs::read_to_string(format!("/proc/{pid}/oom_score_adj"))?.trim().to_owned())
}

/// How many descriptors a process has open: newer kernels (6.2) say it as the size of the folder.
pub(crate) fn open_descriptors(pid: u32) -> Option<u64> {
    fs::metadata(format!("/proc/{pid}/fd")).ok().map(|folder| folder.len())
}

/// The address space and the private memory of a process.
pub(crate) fn memory(pid: u32) -> io::Result<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/statm"))?;
    let pages: Vec<u64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let page = rustix::param::page_size() as u64;
    match (pages.first(), pages.get(5)) {
        (Some(all), Some(data)) => Ok((all * page, data * page)),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "statm is not as expected")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read_behind_the_name() {
        let stat = |flags: u32| format!("7 (a ) 4 4 4) R 1 7 7 0 -1 {flags} 100 0 0 0\n");
        assert!(!says_ending(&stat(0x40_0040)));
        assert!(says_ending(&stat(0x40_0044)));
        assert!(!says_ending("7 (cut"));
    }

    #[test]
    fn an_end_is_read_behind_the_name() {
        let stat = |status: &str| format!("7 (a ) 4) Z{}{status}\n", " 1".repeat(48) + " ");
        assert_eq!(says_ended_with(&stat("256")), Some((Some(1), None)));
        assert_eq!(says_ended_with(&stat("0")), Some((Some(0), None)));
        assert_eq!(says_ended_with(&stat("139")), Some((None, Some(11))));
        assert_eq!(says_ended_with("7 (cut"), None);
    }

    #[test]
    fn a_pipe_lies_on_no_mount_and_has_one_number_for_both_ends() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        let (id, mounts) = (file_id(&read).unwrap(), mounts(std::process::id()).unwrap());
        assert!(id == file_id(&write).unwrap() && !mounts.contains(&id.0));
        // Other tests open and close files meanwhile, so not all of them are listed here.
        assert_ne!(id, file_id(fs::File::open("/").unwrap()).unwrap());
    }

    #[test]
    fn a_name_that_is_no_text_hides_nothing() {
        std::thread::spawn(|| {
            rustix::thread::set_name(c"hr\xff) Z 1").unwrap();
            let said = stat("/proc/thread-self/stat").unwrap();
            assert!(said.contains("hr\u{fffd}) Z 1) R "), "{said}");
            assert!(!is_ending(std::process::id()));
        })
        .join()
        .unwrap();
        assert!(is_ending(u32::MAX));
    }

    #[test]
    fn a_zombie_is_ending_and_we_are_not() {
        assert!(!is_ending(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        // It is not waited for before that, so its number is its own.
        while !is_ending(child.id()) {
            std::thread::yield_now();
        }
        assert_eq!(parent(child.id()), Some(std::process::id()));
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(is_stopped(child.id()) && !has_ended(std::process::id()));
        child.wait().unwrap();
    }
}
