//! What a caller and an engine behind a pipe say to each other: one JSON object to a line.
//!
//! Requests carry a number of the caller's choice; every message about a run carries it back. Many
//! runs may be under way at once, and their messages come in any order, but for each run `output`
//! and `call` come before its one `outcome` or `failed`. Sessions have numbers of the caller's choice too,
//! apart from those of requests, from the request that opens them to the one that closes them. The files in
//! `golden/pipe` hold one message each, and the tests of every language read them.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    ArtifactWish, Job, Outcome, Piece, SessionAnswer, SessionAsk, StateAfter, Stream, ToolFault,
};

/// The version of these messages. A caller that finds another does not go on.
pub const PIPE_VERSION: u32 = 1;

/// The longest line of a caller, in bytes: room for the longest code and inputs, escaped, a policy, and
/// the docs of many tools.
pub const MAX_LINE: usize = 64 << 20;

/// What a caller writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToEngine {
    /// Run a job.
    Run {
        /// The caller's number for it, free again after the answer.
        id: u64,
        /// What to run.
        job: Box<Job>,
        /// Whether output is wanted as it comes. The outcome has it anyway.
        #[serde(default)]
        stream: bool,
        /// For whom it is. Tenants are served in turn.
        #[serde(default)]
        tenant: String,
        /// When the answer is of no use any more, in milliseconds from now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        /// What is wanted of the files that the run leaves. They can be kept where the engine was started
        /// with a directory for them.
        #[serde(default)]
        artifacts: ArtifactWish,
    },
    /// Run a piece of a session's code. It is a run like another: it can be cancelled, and its calls are
    /// answered.
    Piece {
        /// The caller's number for the run, free again after the answer.
        id: u64,
        /// The caller's number for the session.
        session: u64,
        /// What to run.
        piece: Box<Piece>,
        /// Whether output is wanted as it comes. The outcome has it anyway.
        #[serde(default)]
        stream: bool,
        /// For whom it is. Tenants are served in turn.
        #[serde(default)]
        tenant: String,
        /// When the answer is of no use any more, in milliseconds from now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline_ms: Option<u64>,
        /// What is wanted of the files that the run leaves.
        #[serde(default)]
        artifacts: ArtifactWish,
    },
    /// Open a session, or do something else with it.
    Session {
        /// The caller's number for the request, free again after the answer.
        id: u64,
        /// The caller's number for the session.
        session: u64,
        /// What to do.
        ask: SessionAsk,
    },
    /// End a run, or the opening of a session. It is still answered.
    Cancel {
        /// The caller's number for it.
        id: u64,
    },
    /// What came of a call. Of use as long as the run is under way.
    Answer {
        /// The caller's number for the run.
        id: u64,
        /// The run's number for the call.
        call: u64,
        /// What the tool returned; absent means `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<RawValue>>,
        /// Why it returned nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolFault>,
    },
}

/// Whose fault it is that there is no outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureKind {
    /// The caller's.
    Request,
    /// Too much is running; come again.
    Busy,
    /// The run was cancelled before it began.
    Cancelled,
    /// Ours.
    Engine,
}

/// Why there is no outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunFailure {
    /// Whose fault it is.
    pub kind: FailureKind,
    /// What went wrong.
    pub message: String,
    /// What stands behind it, nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What an engine writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromEngine {
    /// The first line: requests may come.
    Ready {
        /// [`PIPE_VERSION`].
        pipe: u32,
        /// The version of carboy.
        version: String,
        /// The interpreter that jobs run on.
        python: String,
    },
    /// A module that is to be preloaded is done. The first run waits for all of them.
    Preloaded {
        /// Which one.
        module: String,
        /// How many are done, with this one.
        done: u64,
        /// How many there are.
        count: u64,
        /// How long its import took, in milliseconds; absent if it is imported in each jar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_ms: Option<f64>,
        /// Why it is imported in each jar instead of once for all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        late: Option<String>,
    },
    /// Output of a run that asked for it.
    Output {
        /// The caller's number for the run.
        id: u64,
        /// Where it was written.
        stream: Stream,
        /// What was written; bytes that are not UTF-8 are replaced.
        text: String,
    },
    /// A run calls one of its tools, and wants an answer: a [`Call`](crate::Call) with the number of
    /// its run beside it. Written out, because serde cannot read raw JSON through `flatten`.
    Call {
        /// The caller's number for the run.
        id: u64,
        /// The run's number for the call.
        call: u64,
        /// One of the names that the job offered.
        tool: String,
        /// Arguments by position: an array.
        args: Box<RawValue>,
        /// Arguments by name: an object.
        kwargs: Box<RawValue>,
    },
    /// What came of a run.
    Outcome {
        /// The caller's number for the run.
        id: u64,
        /// All of it.
        outcome: Box<Outcome>,
        /// What is left of its session's state, if it was a piece of one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<StateAfter>,
        /// What is to be known about that state.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// What came of a request about a session.
    Session {
        /// The caller's number for the request.
        id: u64,
        /// What came of it.
        answer: SessionAnswer,
    },
    /// There is no outcome.
    Failed {
        /// The caller's number for the run, if the request could be read that far.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        /// Why.
        failure: RunFailure,
    },
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Reads a golden message and writes it again.
    fn again<T: Serialize + for<'de> Deserialize<'de>>(text: &str) -> Value {
        serde_json::to_value(serde_json::from_str::<T>(text).unwrap()).unwrap()
    }

    #[test]
    fn golden_messages_are_read_and_written_the_same() {
        macro_rules! golden {
            ($kind:ty: $($name:literal)*) => {
                $(
                    let text = include_str!(concat!("../../../golden/pipe/", $name, ".json"));
                    let value: Value = serde_json::from_str(text).unwrap();
                    assert_eq!(again::<$kind>(text), value, $name);
                )*
            };
        }
        golden!(FromEngine: "ready" "preloaded" "preloaded_late" "output" "outcome" "outcome_crash" "outcome_ok" "outcome_converted" "failed" "failed_without_id" "call" "outcome_restored" "session_done" "session_variables" "session_checkpoints");
        golden!(ToEngine: "cancel" "answer" "answer_null" "answer_error" "session_branch" "session_checkpoint" "session_rollback" "session_ask_variables" "session_ask_checkpoints" "session_drop" "session_close");
        // A request is written with every default.
        let run = again::<ToEngine>(include_str!("../../../golden/pipe/run.json"));
        let (job, limits) = (&run["run"]["job"], &run["run"]["job"]["policy"]["limits"]);
        assert_eq!(
            (&limits["wall_ms"], &job["inputs"]["n"]),
            (&2000.into(), &vec![1, 2, 3].into())
        );
        assert_eq!(
            (&job["tools"][0]["async"], &job["tools"][0]["budget_ms"]),
            (&true.into(), &250.into())
        );
        assert_eq!(job["policy"]["strict"], true);
        assert_eq!(job["policy"]["language"]["imports"][0], "mypackage");
        let open = again::<ToEngine>(include_str!("../../../golden/pipe/session_open.json"));
        assert_eq!(open["session"]["ask"]["open"]["policy"]["limits"]["heads"], 4);
        let piece = again::<ToEngine>(include_str!("../../../golden/pipe/piece.json"));
        assert_eq!(piece["piece"]["piece"]["wall_ms"], 1500);
        let least = again::<ToEngine>(include_str!("../../../golden/pipe/run_least.json"));
        assert_eq!(least["run"]["id"], u64::MAX);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        for text in [
            "{}",
            r#"{"run": {"job": {"code": ""}}}"#,
            r#"{"run": {"id": -1, "job": {"code": ""}}}"#,
            r#"{"run": {"id": 1, "job": {}}}"#,
            r#"{"run": {"id": 1, "job": {"code": "", "more": 1}}}"#,
            r#"{"run": {"id": 1, "job": {"code": ""}}, "cancel": {"id": 1}}"#,
            r#"{"stop": {"id": 1}}"#,
        ] {
            assert!(serde_json::from_str::<ToEngine>(text).is_err(), "{text}");
        }
    }
}
