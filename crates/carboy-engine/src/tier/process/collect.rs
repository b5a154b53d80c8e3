//! Artifacts: what a run left in its directory, listed or kept after its end.
//!
//! Nobody writes any more when this is asked: the jar was killed, and nothing of it runs. Only the kernel, while it
//! takes the process down, may still write single words of its memory, and that may be of a file; so what is
//! read more than once is read after its end. What it left is still its own choice, so names, kinds, numbers and
//! sizes are judged, and whatever does not come out is counted by its reason.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use carboy_protocol::{Artifact, LeftOut, LeftOutReason, Limits, hidden_in};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Timespec, fstat, openat2};
use sha2::{Digest, Sha256};

use super::media::{HEAD, media_type};
use super::tree::{Entry, MAX_DEPTH, walk};
use crate::kernel::ending::{Killed, REAP};
use crate::runner::{Artifacts, Keeper};
use crate::tier::Left;

/// The longest path of an artifact, in bytes. Longer ones cannot be made elsewhere in one call.
const MAX_PATH: usize = 1024;
/// How many entries are looked at. An honest run leaves fewer, whatever its limits.
const MAX_ENTRIES: u64 = 200_000;
/// How many paths are named for a reason, and how long each may be.
const NAMED: usize = 10;
const SHOWN: usize = 100;
/// A file of at most so many bytes is read once, and kept from memory.
const SMALL: u64 = 1 << 20;
/// The same in a session, where others may write meanwhile.
const WHOLE: u64 = 16 << 20;

/// What is to be collected, and how much of it.
pub(super) struct Collector {
    /// The id of the run.
    pub run: String,
    pub wanted: Artifacts,
    pub most: u64,
    pub most_bytes: u64,
    /// How many entries are looked at.
    entries: u64,
    /// Whether the file system is the host's, where a file may have names outside.
    pub is_on_host: bool,
    /// Links at the top that are ours: to what the run was given.
    pub links: Vec<PathBuf>,
    /// Only what was changed since then is of interest, by the clock that the kernel marks files with.
    pub since: Option<Timespec>,
    /// What was found.
    pub left: Left,
    /// The bytes that were kept.
    pub bytes: u64,
    /// Whose directory it is, while it may not be gone yet.
    killed: Option<Killed>,
}

impl Collector {
    pub fn new(run: &str, wanted: &Artifacts, limits: &Limits, is_on_host: bool) -> Collector {
        Collector {
            run: run.to_owned(),
            wanted: wanted.clone(),
            most: limits.artifacts,
            most_bytes: limits.artifact_bytes,
            entries: MAX_ENTRIES,
            is_on_host,
            links: vec![],
            since: None,
            left: Left::default(),
            bytes: 0,
            killed: None,
        }
    }

    /// Goes through the directory of a process of which nothing runs any more, or of a session. May take long.
    pub fn collect(mut self, folder: &OwnedFd, killed: Option<Killed>) -> Left {
        if matches!(self.wanted, Artifacts::None) {
            return self.left;
        }
        self.killed = killed;
        let mut seen = 0;
        walk(folder, &mut Vec::new(), &mut |entry| {
            seen += 1;
            if let Err((reason, detail)) = self.take(&entry, seen) {
                self.left_out(&entry, reason, detail);
            }
            seen <= self.entries
        });
        self.left.artifacts.sort_by(|a, b| a.path.cmp(&b.path));
        self.left.left_out.sort_by_key(|left_out| left_out.reason);
        self.left
    }

    /// Takes one entry, or says why not.
    fn take(&mut self, entry: &Entry<'_>, seen: u64) -> Result<(), Refusal> {
        match entry.kind() {
            FileType::Directory if entry.path.len() >= MAX_DEPTH => return refuse(Reason::Depth),
            FileType::Directory => return Ok(()),
            FileType::Symlink if self.is_ours(entry) => return Ok(()),
            FileType::Symlink => return refuse(Reason::Link),
            FileType::RegularFile => {}
            _ => return refuse(Reason::Special),
        }
        if self.since.is_some_and(|since| is_older(entry, since)) {
            return Ok(());
        }
        if self.is_on_host && entry.found.st_nlink > 1 {
            return refuse(Reason::HardLink);
        }
        let Some(path) = path_of(entry) else { return refuse(Reason::Name) };
        if self.left.artifacts.len() as u64 >= self.most || seen > self.entries {
            return refuse(Reason::Count);
        }
        let bytes = u64::try_from(entry.found.st_size).unwrap_or(0);
        let mut artifact = Artifact { path, bytes, sha256: None, media_type: None };
        if let Artifacts::Keep(keeper) = self.wanted.clone() {
            if bytes > self.most_bytes - self.bytes {
                return refuse(Reason::Bytes);
            }
            self.keep(&*keeper, entry, &mut artifact)?;
            self.bytes += bytes;
        }
        self.left.artifacts.push(artifact);
        Ok(())
    }

    /// Whether a link is one to what the run was given. A file that the code put in its place is its own.
    fn is_ours(&self, entry: &Entry<'_>) -> bool {
        let name = entry.name.to_bytes();
        entry.path.is_empty()
            && self.links.iter().any(|link| link.as_os_str().as_encoded_bytes() == name)
    }

    /// Reads a file for its digest and type, and hands it over.
    fn keep(
        &mut self,
        keeper: &dyn Keeper,
        entry: &Entry<'_>,
        artifact: &mut Artifact,
    ) -> Result<(), Refusal> {
        let unreadable = |error: io::Error| (Reason::Unreadable, Some(error.to_string()));
        let mut file = open(entry).map_err(|error| unreadable(error.into()))?;
        let found = fstat(&file).map_err(|error| unreadable(error.into()))?;
        let as_listed = FileType::from_raw_mode(found.st_mode) == FileType::RegularFile
            && (found.st_dev, found.st_ino, found.st_size)
                == (entry.found.st_dev, entry.found.st_ino, entry.found.st_size);
        if !as_listed {
            return refuse(Reason::Changed);
        }
        let is_small = artifact.bytes <= if self.since.is_some() { WHOLE } else { SMALL };
        if !is_small && self.since.is_some() {
            // It would be read twice, and others may write to it.
            let why =
                format!("in a session that is open only files of at most {WHOLE} bytes are kept");
            return Err((Reason::Changed, Some(why)));
        }
        if !is_small && let Some(killed) = self.killed.take() {
            let ended = killed.wait_until_ended(REAP).map_err(unreadable)?;
            if !ended {
                return refuse(Reason::Changed);
            }
        }
        let first = if is_small { artifact.bytes + 1 } else { HEAD as u64 };
        let mut head = Vec::with_capacity(first as usize);
        (&mut file).take(first).read_to_end(&mut head).map_err(unreadable)?;
        let mut hash = Hash { sha256: Sha256::new_with_prefix(&head), bytes: head.len() as u64 };
        if !is_small {
            let rest = artifact.bytes - head.len() as u64 + 1;
            io::copy(&mut (&mut file).take(rest), &mut hash).map_err(unreadable)?;
        }
        if hash.bytes != artifact.bytes {
            return refuse(Reason::Changed);
        }
        let begins = &head[..head.len().min(HEAD)];
        artifact.media_type = Some(media_type(&artifact.path, begins).into());
        artifact.sha256 = Some(hexadecimal(&hash.sha256.finalize()));
        let kept = if is_small {
            keeper.keep(&self.run, artifact, &mut &head[..])
        } else {
            let again = file.rewind();
            again.and_then(|()| keeper.keep(&self.run, artifact, &mut file.take(artifact.bytes)))
        };
        kept.map_err(|error| (Reason::Store, Some(error.to_string())))
    }

    fn left_out(&mut self, entry: &Entry<'_>, reason: Reason, detail: Option<String>) {
        let all = &mut self.left.left_out;
        let place = all.iter().position(|known| known.reason == reason).unwrap_or_else(|| {
            let message = match detail {
                Some(detail) => format!("{}: {detail}", reason.words()),
                None => reason.words().into(),
            };
            all.push(LeftOut { reason, count: 0, paths: vec![], message });
            all.len() - 1
        });
        all[place].count += 1;
        if all[place].paths.len() < NAMED {
            all[place].paths.push(shown(entry));
        }
    }
}

/// Whether a file was not changed since then. A guest sets other times as it likes, but not this one.
fn is_older(entry: &Entry<'_>, since: Timespec) -> bool {
    let nanoseconds = i64::try_from(entry.found.st_ctime_nsec).unwrap_or(i64::MAX);
    (entry.found.st_ctime, nanoseconds) < (since.tv_sec, since.tv_nsec)
}

type Reason = LeftOutReason;
/// Why something does not come out, and the error behind it.
type Refusal = (LeftOutReason, Option<String>);

fn refuse<T>(reason: Reason) -> Result<T, Refusal> {
    Err((reason, None))
}

/// Opens what a walk has found, if it is still that and not a way to somewhere else.
fn open(entry: &Entry<'_>) -> rustix::io::Result<File> {
    let flags =
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let beneath = ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV;
    openat2(entry.folder, entry.name.as_c_str(), flags, Mode::empty(), beneath).map(File::from)
}

/// The path of a file, if it can be one of an artifact.
fn path_of(entry: &Entry<'_>) -> Option<String> {
    let parts = parts(entry).map(|part| part.to_str().ok()).collect::<Option<Vec<_>>>()?;
    let path = parts.join("/");
    (path.len() <= MAX_PATH && !hidden_in(&path).any(|(_, hidden)| hidden)).then_some(path)
}

fn parts<'a>(entry: &'a Entry<'_>) -> impl Iterator<Item = &'a CString> {
    entry.path.iter().chain([entry.name])
}

/// A path as it is told: no longer than a line, and nothing hidden in it.
fn shown(entry: &Entry<'_>) -> String {
    let mut shown = String::new();
    for (place, part) in parts(entry).enumerate() {
        if place > 0 {
            shown.push('/');
        }
        for chunk in part.as_bytes().utf8_chunks() {
            for (char, hidden) in hidden_in(chunk.valid()) {
                if hidden || char == '\\' {
                    shown.extend(char.escape_default());
                } else {
                    shown.push(char);
                }
            }
            chunk.invalid().iter().for_each(|byte| shown.push_str(&format!("\\x{byte:02x}")));
        }
        if shown.len() > 4 * SHOWN {
            break;
        }
    }
    match shown.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &shown[..end]),
        None => shown,
    }
}

/// A digest that is written to.
struct Hash {
    sha256: Sha256,
    bytes: u64,
}

impl io::Write for Hash {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.sha256.update(piece);
        self.bytes += piece.len() as u64;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::fs;

    use super::*;
    use crate::kernel::id::new_id;

    #[test]
    fn a_collector_looks_at_so_many_entries_and_no_more() {
        // 200,000 take seconds to make.
        const ENTRIES: u64 = 2_000;
        let folder = std::env::temp_dir().join(format!("carboy-collect-{}", new_id().unwrap()));
        for number in 0..ENTRIES + 50 {
            let below = folder.join(format!("{:02}", number / 100));
            fs::create_dir_all(&below).unwrap();
            fs::write(below.join(format!("{number}")), "").unwrap();
        }
        let limits = Limits { artifacts: 10, ..Limits::default() };
        let mut collector = Collector::new("r", &Artifacts::List, &limits, false);
        assert_eq!(collector.entries, MAX_ENTRIES);
        collector.entries = ENTRIES;
        let opened = fs::File::open(&folder).unwrap().into();
        let left = collector.collect(&opened, None);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((left.artifacts.len(), left.left_out.len()), (10, 1));
        // The last one that it looked at is the first beyond the bound. A folder is an entry too.
        let (out, folders) = (&left.left_out[0], (ENTRIES + 1).div_ceil(101));
        assert_eq!((out.reason, out.count), (Reason::Count, ENTRIES + 1 - folders - 10));
        assert_eq!(out.paths.len(), NAMED);
    }
}
