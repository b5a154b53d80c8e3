//! Files and directories that a job is handed, and where it finds them.

use serde::{Deserialize, Serialize};

use crate::base64;

/// What a file that code finds under a name consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FileSource {
    /// A plain file of the engine's host, by its absolute path. It is not copied.
    Path(String),
    /// A text.
    Text(String),
    /// Bytes; base64 in JSON.
    #[serde(with = "base64")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    Base64(Vec<u8>),
    /// A file that was uploaded to `carboy serve`, by the SHA-256 of its content in hexadecimal.
    Sha256(String),
}

/// The folders in which code finds what it is handed. Below the first are `files`; a mount may be at the
/// others, or below any of them.
pub const INPUT_FOLDERS: [&str; 3] = ["/inputs", "/data", "/workspace"];

/// Where these folders really lie in full walls. Code that was written for another place often says
/// `/mnt/data`.
pub const INPUT_ROOT: &str = "/mnt";
