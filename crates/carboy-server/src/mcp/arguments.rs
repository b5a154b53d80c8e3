//! What the tools are called with. A model wrote it, so an unknown name is told and not passed over.

use std::collections::BTreeMap;

use carboy_protocol::FileSource;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunPython {
    pub code: String,
    #[serde(default)]
    pub inputs: BTreeMap<String, Box<RawValue>>,
    #[serde(default)]
    pub files: BTreeMap<String, File>,
}

/// A file's content: its text, or bytes.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum File {
    Text(String),
    Bytes(Bytes),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bytes {
    #[serde(with = "carboy_protocol::base64")]
    base64: Vec<u8>,
}

impl From<File> for FileSource {
    fn from(file: File) -> FileSource {
        match file {
            File::Text(text) => FileSource::Text(text),
            File::Bytes(Bytes { base64 }) => FileSource::Base64(base64),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionOpen {
    #[serde(default)]
    pub inputs: BTreeMap<String, Box<RawValue>>,
    #[serde(default)]
    pub files: BTreeMap<String, File>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionRun {
    pub session: String,
    pub code: String,
    #[serde(default)]
    pub inputs: BTreeMap<String, Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OneSession {
    pub session: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NamedState {
    pub session: String,
    pub name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListFiles {
    pub run: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadFile {
    pub run: String,
    pub path: String,
    #[serde(default)]
    pub offset: u64,
}

/// The arguments of a call, or what is wrong with them.
pub(super) fn parsed<T: DeserializeOwned>(arguments: Map<String, Value>) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn of<T: DeserializeOwned>(value: Value) -> Result<T, String> {
        parsed(value.as_object().unwrap().clone())
    }

    #[test]
    fn inputs_and_files_are_read() {
        let run: RunPython = of(json!({
            "code": "x", "inputs": {"a": [1, 2.5, {"b": null}]}, "files": {"t": "text", "b": {"base64": "aGk="}}
        }))
        .unwrap();
        assert_eq!(run.inputs["a"].get(), r#"[1,2.5,{"b":null}]"#);
        let mut files = run.files;
        assert_eq!(
            FileSource::from(files.remove("b").unwrap()),
            FileSource::Base64(b"hi".to_vec())
        );
        assert_eq!(FileSource::from(files.remove("t").unwrap()), FileSource::Text("text".into()));
    }

    #[test]
    fn what_a_tool_does_not_take_is_told() {
        assert!(
            of::<RunPython>(json!({"code": "x", "timeout": 3})).unwrap_err().contains("timeout")
        );
        assert!(of::<RunPython>(json!({})).unwrap_err().contains("code"));
        assert!(
            of::<RunPython>(json!({"code": "x", "files": {"a": {"path": "/etc/passwd"}}})).is_err()
        );
        assert!(of::<ReadFile>(json!({"run": "r", "path": "a", "offset": -1})).is_err());
    }
}
