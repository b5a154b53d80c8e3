//! What is known of the files that a run was given, whose bytes are not kept.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Mutex, PoisonError};
use std::time::UNIX_EPOCH;

use carboy_engine::Witness;
use carboy_protocol::FileSource;
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};

use crate::digest::sha256;
use crate::time::iso8601;

/// A file of the host is hashed up to this size. A longer one is known by its size and the time of its last change:
/// reading it would take longer than the run.
const HASHED: u64 = 1 << 20;

/// A file that code found under a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenFile {
    /// Its name.
    pub name: String,
    /// Where it lay on the host, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its size, if it could be found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Of its content, before the run, if it was not too long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// When it was last changed, if it lay on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

/// What is known of the files of a run: at once of those that came with its job, and of those of the host when the
/// engine has opened them.
#[derive(Debug)]
pub struct GivenFiles(Mutex<Vec<GivenFile>>);

impl GivenFiles {
    /// The files of a job. It reads those that came with it.
    pub fn of(files: &BTreeMap<String, FileSource>) -> GivenFiles {
        let look = |(name, source): (&String, &FileSource)| {
            let name = name.clone();
            let unknown = GivenFile { name, path: None, bytes: None, sha256: None, modified: None };
            let content = |bytes: &[u8]| GivenFile {
                bytes: Some(bytes.len() as u64),
                sha256: Some(sha256(bytes)),
                ..unknown.clone()
            };
            match source {
                FileSource::Text(text) => content(text.as_bytes()),
                FileSource::Base64(bytes) => content(bytes),
                FileSource::Path(path) => GivenFile { path: Some(path.clone()), ..unknown.clone() },
            }
        };
        GivenFiles(Mutex::new(files.iter().map(look).collect()))
    }

    /// What is known by now. Of a file of the host that the engine did not open only its path is.
    pub fn known(&self) -> Vec<GivenFile> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Witness for GivenFiles {
    fn given(&self, name: &str, file: BorrowedFd<'_>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = files.iter_mut().find(|given| given.name == name) {
            look_at(file, found);
        }
    }
}

/// A plain file of the host, which was opened without the right to read it: what its path leads to by now may be
/// another.
fn look_at(held: BorrowedFd<'_>, found: &mut GivenFile) {
    let again = format!("/proc/self/fd/{}", held.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // One that cannot be read here is the engine's to refuse.
    let Ok(file) = rustix::fs::open(again, flags, Mode::empty()).map(File::from) else { return };
    let Some(about) = file.metadata().ok().filter(Metadata::is_file) else { return };
    found.bytes = Some(about.len());
    found.modified = about.modified().ok().map(|time| iso8601(time.max(UNIX_EPOCH)));
    // The kernel's own files claim to be empty and are not: reading one can take what it has from somebody else.
    found.sha256 = match about.len() {
        0 => Some(sha256("")),
        1..=HASHED => {
            let mut bytes = Vec::new();
            file.take(HASHED).read_to_end(&mut bytes).ok().map(|_| sha256(&bytes))
        }
        _ => None,
    };
}
