//! The tools, as a model is told of them.

use std::borrow::Cow;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use super::about::{ANSWERS, About};

macro_rules! names {
    ($($name:ident $word:literal)+) => {
        /// A tool, by its name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Name { $($name,)+ }

        impl Name {
            const ALL: &[Name] = &[$(Name::$name,)+];

            fn as_str(self) -> &'static str {
                match self { $(Name::$name => $word,)+ }
            }
        }
    };
}

names! {
    RunPython "run_python"
    ListFiles "list_files"
    ReadFile "read_file"
    SessionOpen "session_open"
    SessionRun "session_run"
    SessionBranch "session_branch"
    SessionCheckpoint "session_checkpoint"
    SessionRollback "session_rollback"
    SessionClose "session_close"
}

impl Name {
    /// The tool of this name, if a caller has it.
    pub fn of(word: &str, about: &About) -> Option<Name> {
        Name::offered(about).find(|name| name.as_str() == word)
    }

    /// The tools that a caller has: those for sessions and files where there are any.
    fn offered(about: &About) -> impl Iterator<Item = Name> {
        let (sessions, files) = (about.sessions, about.files);
        Name::ALL.iter().copied().filter(move |name| match name {
            Name::RunPython => true,
            Name::ListFiles | Name::ReadFile => files,
            _ => sessions,
        })
    }
}

/// All tools that a caller has.
pub(super) fn tools(about: &About) -> Vec<Tool> {
    Name::offered(about).map(|name| tool(name, about)).collect()
}

fn tool(name: Name, about: &About) -> Tool {
    let (title, description, schema) = match name {
        Name::RunPython => (
            "Run Python",
            format!(
                "Run Python code in a fresh, sealed process. Nothing is kept from one run to the next.\n{}\n{ANSWERS}",
                about.rules()
            )
            .into(),
            object(&["code"], json!({ "code": CODE.schema(), "inputs": INPUTS.schema(), "files": files() })),
        ),
        Name::ListFiles => (
            "List files of a run",
            "List the files that a run left in its current directory.".into(),
            object(&["run"], json!({ "run": RUN.schema() })),
        ),
        Name::ReadFile => (
            "Read a file of a run",
            "Read a file that a run left in its current directory. Pictures are returned as images, long texts in \
             parts."
                .into(),
            object(
                &["run", "path"],
                json!({
                    "run": RUN.schema(),
                    "path": text("The path of the file, as the run's answer has it"),
                    "offset": { "type": "integer", "minimum": 0, "description": "The byte to begin at, 0 if left out" },
                }),
            ),
        ),
        Name::SessionOpen => (
            "Open a session",
            "Open a session: Python that keeps variables, imports and files from run to run. Returns its name. The \
             rules of `run_python` hold in it. Close it when it is of no use any more."
                .into(),
            object(&[], json!({ "inputs": INPUTS.schema(), "files": files() })),
        ),
        Name::SessionRun => (
            "Run Python in a session",
            "Run the next piece of a session's code. What earlier pieces defined is there. A piece that crashes, takes \
             too long or needs too much memory leaves the session as it was before it; after an exception the \
             session goes on from where the code got to."
                .into(),
            object(
                &["session", "code"],
                json!({ "session": SESSION.schema(), "code": CODE.schema(), "inputs": INPUTS.schema() }),
            ),
        ),
        Name::SessionBranch => (
            "Branch a session",
            "Open another session that goes on from the same state, beside the first, to try something without \
             losing that state. Returns its name. The branches of a session share its files."
                .into(),
            object(&["session"], json!({ "session": SESSION.schema() })),
        ),
        Name::SessionCheckpoint => (
            "Keep a session's state",
            "Keep the state of a session under a name, for `session_rollback`. Files are not kept with it.".into(),
            object(
                &["session", "name"],
                json!({ "session": SESSION.schema(), "name": text("What to call the state") }),
            ),
        ),
        Name::SessionRollback => (
            "Roll a session back",
            "Take a session back to a state that `session_checkpoint` kept. Files stay as they are.".into(),
            object(
                &["session", "name"],
                json!({ "session": SESSION.schema(), "name": text("The name of the state") }),
            ),
        ),
        Name::SessionClose => (
            "Close a session",
            "End a session, and its branches with it.".into(),
            object(&["session"], json!({ "session": SESSION.schema() })),
        ),
    };
    let description: Cow<'static, str> = description;
    // Code reaches nothing but its own jar.
    let mut annotations = ToolAnnotations::with_title(title).destructive(false).open_world(false);
    if matches!(name, Name::ListFiles | Name::ReadFile) {
        annotations = annotations.read_only(true);
    }
    Tool::new(name.as_str(), description, schema).with_annotations(annotations)
}

/// An argument that several tools take.
struct Argument(&'static str, &'static str);

impl Argument {
    fn schema(&self) -> Value {
        json!({ "type": self.0, "description": self.1 })
    }
}

const CODE: Argument = Argument("string", "Python source");
const INPUTS: Argument =
    Argument("object", "JSON values that the code finds as variables, by their names");
const RUN: Argument = Argument("string", "The id of the run, as its answer has it");
const SESSION: Argument = Argument("string", "The name of the session");

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn files() -> Value {
    let bytes = json!({
        "type": "object", "properties": { "base64": { "type": "string" } }, "required": ["base64"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "description": "Files that the code can read, by their names: each a text, or bytes as {\"base64\": \"...\"}",
        "additionalProperties": { "anyOf": [{ "type": "string" }, bytes] },
    })
}

fn object(required: &[&str], properties: Value) -> Map<String, Value> {
    let schema = json!({
        "type": "object", "properties": properties, "required": required, "additionalProperties": false,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_tools_are_there_where_sessions_are() {
        let names =
            |about: &About| tools(about).into_iter().map(|tool| tool.name).collect::<Vec<_>>();
        assert_eq!(names(&About::default()), ["run_python"]);
        let about = About { files: true, ..About::default() };
        assert_eq!(names(&about), ["run_python", "list_files", "read_file"]);
        let about = About { sessions: true, ..about };
        assert_eq!(names(&about).len(), 9);
        assert_eq!(Name::of("session_run", &about), Some(Name::SessionRun));
        assert_eq!(Name::of("session_run", &About::default()), None);
        assert_eq!(Name::of("rm", &about), None);
    }

    #[test]
    fn every_required_argument_is_described() {
        for tool in tools(&About { sessions: true, files: true, ..About::default() }) {
            let schema = Value::Object((*tool.input_schema).clone());
            for name in schema["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap_or_default();
                assert!(
                    schema["properties"][name]["description"].is_string(),
                    "{} {name}",
                    tool.name
                );
            }
        }
    }
}
