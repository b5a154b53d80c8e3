//! What engine, zygote and jar say to each other.
//!
//! Engine and zygote trust each other. A jar does not get to say anything but [`FromJar`], and
//! every byte of it is hostile: it is bounded and checked before it is parsed, and nothing in it
//! can claim a cause, a usage or an isolation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Call, DataFrame, Display, Drawing, LanguageProfile, Tool, ToolFault};

/// The version of these messages. Engine and zygote refuse each other when it differs.
pub const WIRE_VERSION: u32 = 7;

/// A layer that could not be set up: which one, at what step, on what object, with what answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupFault {
    /// The layer, such as `user namespace`.
    pub layer: String,
    /// The call that failed, such as `clone3`.
    pub step: String,
    /// What it was applied to.
    pub object: String,
    /// The kernel's answer, such as `EPERM`, or what was read back instead of what was asked.
    pub answer: String,
}

impl std::fmt::Display for SetupFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.layer, self.step)?;
        if !self.object.is_empty() {
            write!(f, "({})", self.object)?;
        }
        write!(f, ": {}", self.answer)
    }
}

impl std::error::Error for SetupFault {}

/// What the engine asks of a zygote. `W` is what all its jars have in common, `J` the plan of one.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToZygote<W, J> {
    /// The module that was imported last may stay. Read by the Python half.
    Next {},
    /// What every jar will be sealed to: the first message, but for those about modules.
    Prepare(W),
    /// Fork a jar and seal it.
    Fork {
        /// The engine's number for it.
        jar: u64,
        /// What to seal it to.
        plan: J,
    },
}

/// What a zygote tells the engine.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FromZygote {
    /// The helper made the zygote's process. Its pidfd comes with this message.
    Started {},
    /// The walls stand and the interpreter is warm.
    Ready {
        /// [`WIRE_VERSION`] of the library.
        wire: u32,
        /// The interpreter's version.
        python: String,
    },
    /// The walls could not be built or the interpreter could not be prepared.
    Failed(SetupFault),
    /// A module was imported beforehand. The zygote waits until it hears that it may stay. Written by
    /// the Python half.
    Imported {
        /// Which one.
        module: String,
        /// Whether the zygote sees memory of its own that jars would share.
        shares: bool,
    },
    /// A module that the caller wants imported beforehand cannot be. Written by the Python half.
    NotPreloaded {
        /// Which one.
        module: String,
        /// The exception that its import raised, its class first.
        error: String,
    },
    /// A module that was imported beforehand mapped memory that all jars would share and could write.
    Shared {
        /// Its name and its size.
        mapping: String,
    },
    /// A jar was forked. Its descriptors come with this message.
    Forked {
        /// The engine's number for it.
        jar: u64,
    },
    /// A jar could not be forked.
    NotForked {
        /// The engine's number for it.
        jar: u64,
        /// Why.
        fault: SetupFault,
    },
    /// A jar ended and was reaped.
    Ended {
        /// The engine's number for it.
        jar: u64,
        /// Its exit code, if it exited.
        code: Option<i32>,
        /// The signal, if one killed it.
        signal: Option<i32>,
        /// Processor time of it and of the children it waited for, in microseconds.
        cpu_us: u64,
        /// Resident memory at its highest.
        peak_memory_bytes: u64,
    },
}

/// What a jar is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToJar {
    /// Run something of no importance, say that you are ready, and wait for the job.
    Warm {},
    /// Import modules that cannot be in the zygote, say that it is done, and wait for the job.
    Import {
        /// Which ones, in their order.
        modules: Vec<String>,
    },
    /// The one job, or in a session the next piece of code.
    Job(JobFrame),
    /// In a session: make a copy of this process, and say that you are ready. The first message makes a jar
    /// one that holds a session.
    Fork {
        /// Children that have ended and are to be waited for first, by their numbers inside.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        ended: Vec<u32>,
        /// Run something of no importance after it, before you say that you are ready.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        rehearse: bool,
    },
    /// In a session: wait for children that have ended, and say that you are ready.
    Reap {
        /// Which ones, by their numbers inside. Of any other it may not be known yet how it ended.
        ended: Vec<u32>,
    },
    /// In a session, to its first process: do something with its files, and say that you are ready.
    Files(KeptFiles),
    /// In a session: answer with the names that the code has defined.
    Variables {
        /// How many at most.
        most: u64,
    },
    /// What came of a call, once it is known.
    Answer {
        /// The jar's number for the call.
        call: u64,
        /// What the tool returned; absent means `None`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        result: Option<Box<RawValue>>,
        /// Why it returned nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<ToolFault>,
    },
}

/// What the first process of a session does with files that roll back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptFiles {
    /// Keep them as they are now, under the number 0.
    Keep {
        /// Where they are.
        folders: Vec<PathBuf>,
        /// How many bytes that may take.
        most_bytes: u64,
    },
    /// Keep what has the number 0 under another number too.
    Share {
        /// Which one.
        number: u64,
        /// How many bytes everything with another number than 0 may take.
        most_bytes: u64,
    },
    /// Make them what they were.
    Restore {
        /// Under which number that is kept.
        number: u64,
        /// Where they are.
        folders: Vec<PathBuf>,
    },
    /// Keep this no longer.
    Forget {
        /// Which one.
        number: u64,
    },
}

/// The one job a jar is sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobFrame {
    /// Python source. It may be long, and whoever sends it may want to look at it afterwards.
    pub code: Arc<String>,
    /// What the code sees, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub inputs: BTreeMap<String, Box<RawValue>>,
    /// Which of its files it sees as frames, by name. Each has its format and may have its kind.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub frames: BTreeMap<String, DataFrame>,
    /// Where its environment differs from what jars of the zygote have anyway.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// What the guard saw in it, under a language profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardFrame>,
    /// What it may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<Tool>,
    /// Its result must be JSON already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict: bool,
    /// How and how much it may show.
    #[serde(default)]
    pub displays: DisplayFrame,
}

/// How and how much a job may show, for the jar to keep to. The engine takes no more either.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DisplayFrame {
    /// How many displays there may be.
    pub most: u64,
    /// How many bytes of JSON the data of each may have.
    pub bytes: u64,
    /// How many all of them together.
    pub total_bytes: u64,
    /// How they are drawn.
    #[serde(flatten)]
    pub drawing: Drawing,
}

/// What the runtime half of the guard goes by.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GuardFrame {
    /// What is granted.
    pub profile: LanguageProfile,
    /// Modules granted beyond the profile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<String>,
    /// Underscore names that the program defines for its own objects.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub own: BTreeSet<String>,
    /// The code with its sentries, where it differs from the code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// Why a result could not be written as JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResultFault {
    /// A type JSON does not have.
    NotJson,
    /// A coroutine: a call that was not awaited.
    NotAwaited,
    /// A float that is not a number or not finite.
    NotFinite,
    /// A text that contains an unpaired surrogate.
    NotText,
}

/// What the code answered, in its own words.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestResult {
    /// Its JSON form, if it has one.
    #[serde(default)]
    pub result: Option<Box<RawValue>>,
    /// The type that it had, where that is not JSON's own.
    #[serde(default, rename = "type")]
    pub type_name: Option<String>,
    /// How Python shows it, where it has no JSON form.
    #[serde(default)]
    pub text: Option<String>,
    /// What its JSON form leaves out.
    #[serde(default)]
    pub note: Option<String>,
}

impl GuestResult {
    /// How many bytes type, text and note may have each. A jar that means well stays far below.
    pub const MAX_WORDS: usize = 20_000;
}

/// What the runtime half of the guard refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuardRefusal {
    /// The name of the rule.
    pub rule: String,
    /// What was refused and why.
    pub message: String,
    /// What to write instead.
    pub instead: String,
}

/// How the code failed, in its own words.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestFailure {
    /// The exception's class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its text.
    pub message: String,
    /// Its traceback.
    #[serde(default)]
    pub traceback: Option<String>,
    /// The line of the job's code that raised.
    #[serde(default)]
    pub line: Option<u32>,
    /// `errno` of an `OSError`.
    #[serde(default)]
    pub errno: Option<i32>,
    /// What failed below Python code: the name of the function that was called, or an empty text if
    /// that is not known. Absent if a `raise` statement made the error.
    #[serde(default)]
    pub callee: Option<String>,
    /// The exit code that a `SystemExit` asks for.
    #[serde(default)]
    pub exit: Option<u8>,
    /// What the runtime half of the guard refused, if it raised this.
    #[serde(default)]
    pub refusal: Option<Box<GuardRefusal>>,
}

/// What a jar may say.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FromJar {
    /// Warm and waiting for its job.
    Ready {},
    /// The code calls a tool, and goes on.
    Call(Call),
    /// The code shows something, and goes on.
    Display(Display),
    /// The code showed something that is not among the displays. Said at most once, before the last frame.
    LeftOut {
        /// What, and why.
        note: String,
    },
    /// The code ran to its end.
    Done(GuestResult),
    /// The code raised.
    Failed(Box<GuestFailure>),
    /// The code ran to its end, but its result is not JSON, and the policy is strict.
    BadResult {
        /// Why.
        fault: ResultFault,
        /// The type or value at fault.
        detail: String,
    },
}
