//! Files that code left in its directory: which came out, and which did not.

use serde::{Deserialize, Serialize};

/// What a caller wants of the files that a run leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArtifactWish {
    /// Nothing: they are not even listed.
    None,
    /// Their paths and sizes.
    #[default]
    List,
    /// Their content too, with its SHA-256 and media type.
    Keep,
}

/// One file that the code left in its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Artifact {
    /// Its path below the jar's directory.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// The SHA-256 of its content in hexadecimal, if that was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What its content is, by its first bytes, if that was kept. Markup and scripts are `text/plain`: nobody
    /// who shows an artifact by this type runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
}

/// Why something that the code left is not among the artifacts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum LeftOutReason {
    /// It is a symbolic link.
    Link,
    /// It is a pipe, a socket or a device.
    Special,
    /// It is on a file system of the host and has another name, which may be outside.
    HardLink,
    /// Its path is not UTF-8, is too long, or has characters that are not seen or that a terminal obeys.
    Name,
    /// It is a directory below too many others.
    Depth,
    /// There were as many artifacts as the policy allows.
    Count,
    /// With it the artifacts would have more bytes than the policy allows.
    Bytes,
    /// It cannot be opened or read.
    Unreadable,
    /// It is not what it was a moment before.
    Changed,
    /// Where artifacts are kept, it was not taken.
    Store,
}

impl LeftOutReason {
    /// The reason in a sentence.
    pub fn words(self) -> &'static str {
        match self {
            LeftOutReason::Link => "symbolic links are not followed",
            LeftOutReason::Special => "only plain files are artifacts",
            LeftOutReason::HardLink => {
                "a file with more than one name is not an artifact in nested walls"
            }
            LeftOutReason::Name => {
                "its path is not UTF-8, is longer than 1024 bytes, or has hidden or control characters"
            }
            LeftOutReason::Depth => "it is below more than 64 directories",
            LeftOutReason::Count => "there were more files than limits.artifacts allows",
            LeftOutReason::Bytes => {
                "the artifacts would have had more bytes than limits.artifact_bytes allows"
            }
            LeftOutReason::Unreadable => "it could not be read",
            LeftOutReason::Changed => "it changed while it was read",
            LeftOutReason::Store => "it could not be kept",
        }
    }
}

/// What was left out of the artifacts for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Why.
    pub reason: LeftOutReason,
    /// How often.
    pub count: u64,
    /// The first of them, with everything hidden in their names spelled out, and cut if they are long.
    pub paths: Vec<String>,
    /// The reason in a sentence, and the first error if there was one.
    pub message: String,
}
