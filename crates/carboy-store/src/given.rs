//! What is known of the files that a run was given, whose bytes are not kept.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::time::UNIX_EPOCH;

use carboy_protocol::FileSource;
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

/// A file of the host. What is no plain file, or cannot be read, is the engine's to refuse.
fn on_host(path: &str, mut found: GivenFile) -> GivenFile {
    let Ok(about) = std::fs::metadata(path) else { return found };
    if !about.is_file() {
        return found;
    }
    found.bytes = Some(about.len());
    found.modified = about.modified().ok().map(|time| iso8601(time.max(UNIX_EPOCH)));
    if about.len() <= HASHED {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(HASHED).read_to_end(&mut bytes));
        found.sha256 = read.ok().map(|_| sha256(&bytes));
    }
    found
}
