//! What is known of the files that a run was given, whose bytes are not kept.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::Read;
use std::time::UNIX_EPOCH;

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

/// What is known of files. It may read them.
pub fn given(files: &BTreeMap<String, FileSource>) -> Vec<GivenFile> {
    let look = |(name, source): (&String, &FileSource)| {
        let unknown =
            GivenFile { name: name.clone(), path: None, bytes: None, sha256: None, modified: None };
        let content = |bytes: &[u8]| GivenFile {
            bytes: Some(bytes.len() as u64),
            sha256: Some(sha256(bytes)),
            ..unknown.clone()
        };
        match source {
            FileSource::Text(text) => content(text.as_bytes()),
            FileSource::Base64(bytes) => content(bytes),
            FileSource::Path(path) => {
                on_host(path, GivenFile { path: Some(path.clone()), ..unknown })
            }
        }
    };
    files.iter().map(look).collect()
}

/// A file of the host. What is no plain file, or cannot be read, is the engine's to refuse. Nothing here waits for
/// whoever else has it open: what a name leads to can change at any moment.
fn on_host(path: &str, mut found: GivenFile) -> GivenFile {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    // Only a name of a plain file is opened: opening a device can do something.
    if !std::fs::metadata(path).is_ok_and(|about| about.is_file()) {
        return found;
    }
    let Ok(file) = rustix::fs::open(path, flags, Mode::empty()).map(File::from) else {
        return found;
    };
    let Some(about) = file.metadata().ok().filter(Metadata::is_file) else { return found };
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
    found
}
