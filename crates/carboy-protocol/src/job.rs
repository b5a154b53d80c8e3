//! What the caller asks for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{DataFormat, DataFrame, FileSource, Policy, Tool};

/// One request: code, its inputs, the policy it runs under, and the tools it may call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Python source. It is compiled inside the jar and nowhere else.
    pub code: String,
    /// Any JSON, by the name under which the code sees it. `context` is `None` if it is not here.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Box<RawValue>>,
    /// Files that the code finds, read-only, in `/inputs` and in its working directory, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, FileSource>,
    /// Directories or files of the engine's host that the code finds, read-only, at other places: the
    /// place inside, and the absolute path on the host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mounts: BTreeMap<String, String>,
    /// Files that the code finds as variables too: frames, by the names of these variables.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames: BTreeMap<String, DataFrame>,
    /// What the code may do and how much it may use.
    #[serde(default, deserialize_with = "crate::named_policy::read")]
    pub policy: Policy,
    /// Functions of the caller's that the code may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
}

impl Job {
    /// The longest source a job may carry, in bytes.
    pub const MAX_CODE: usize = 4 << 20;
    /// The longest inputs a job may carry, in bytes of JSON.
    pub const MAX_INPUT: usize = 16 << 20;
    /// The most files and mounts together.
    pub const MAX_FILES: usize = 256;
    /// The folder among its files in which those lie that are only named as frames.
    pub const FRAMES: &str = "frames";
    /// The most bytes of files that are not on the host, together.
    pub const MAX_FILE_BYTES: usize = 32 << 20;

    /// A job with this code and the default policy.
    pub fn new(code: impl Into<String>) -> Job {
        Job { code: code.into(), ..Job::default() }
    }

    /// The same job, with an input.
    #[must_use]
    pub fn with_input(mut self, name: impl Into<String>, value: Box<RawValue>) -> Job {
        self.inputs.insert(name.into(), value);
        self
    }

    /// The same job, with a file.
    #[must_use]
    pub fn with_file(mut self, name: impl Into<String>, source: FileSource) -> Job {
        self.files.insert(name.into(), source);
        self
    }

    /// The same job, with a directory or a file of the host at a place of its own.
    #[must_use]
    pub fn with_mount(mut self, place: impl Into<String>, path: impl Into<String>) -> Job {
        self.mounts.insert(place.into(), path.into());
        self
    }

    /// The same job, with a file of the host that the code finds as a frame under this name. The end of the
    /// path tells what is in it.
    #[must_use]
    pub fn with_frame(mut self, name: impl Into<String>, path: impl Into<String>) -> Job {
        let (name, path) = (name.into(), path.into());
        let end = DataFormat::of(&path).map(|format| format!(".{}", format.end()));
        let file = format!("{}/{name}{}", Job::FRAMES, end.unwrap_or_default());
        self.files.insert(file.clone(), FileSource::Path(path));
        self.frames.insert(name, DataFrame { file, ..DataFrame::default() });
        self
    }

    /// The same job under another policy.
    #[must_use]
    pub fn with_policy(self, policy: Policy) -> Job {
        Job { policy, ..self }
    }
}
