//! The words and the frames of carboy.
//!
//! Every other crate, the command line, the JSON surfaces and the Python side use the types
//! defined here, so that one thing has one name everywhere:
//!
//! * a caller hands over a [`Job`] under a [`Policy`];
//! * what came of it is an [`Outcome`], with its [`GuestError`], [`Denial`]s, [`Usage`] and
//!   [`Isolation`];
//! * engine, zygote and jar talk in [`frame`]s of JSON whose bytes are [checked](json) before
//!   anything is built from them.
//!
//! ```
//! use carboy_protocol::{Policy, Preset};
//! let policy = Policy::preset(Preset::Low);
//! assert_eq!(policy.limits.memory_bytes, 256 << 20);
//! assert!(policy.validate().is_ok());
//! ```
//!
//! The crate does no input or output, starts nothing and knows no host path.
#![forbid(unsafe_code)]

mod artifact;
pub mod base64;
mod data_frame;
mod display;
mod exit;
mod fault;
mod file;
pub mod frame;
mod job;
pub mod json;
mod language;
mod limits;
mod named_policy;
mod outcome;
pub mod pipe;
mod policy;
mod preset;
mod python;
pub mod quantity;
mod raster;
mod session;
mod text;
mod tool;
mod visible;
mod wire;

pub use artifact::{Artifact, ArtifactWish, LeftOut, LeftOutReason};
pub use data_frame::{DataFormat, DataFrame, DataKind};
pub use display::{
    Display, DisplayFault, Drawing, FigureForm, MAX_PIXELS, MediaType, TableForm, Written,
    check as check_display,
};
pub use exit::ExitCode;
pub use fault::PolicyFault;
pub use file::{FileSource, INPUT_FOLDERS, INPUT_ROOT};
pub use job::Job;
pub use language::{LanguagePolicy, LanguageProfile};
pub use limits::{LimitName, LimitRow, Limits, Unit};
pub use outcome::{
    Denial, GuestError, Isolation, Kind, Layer, Layers, LimitHit, Outcome, Output, ProcessExit,
    Status, Stream, Usage,
};
pub use policy::{Network, Policy, SessionFiles, Walls};
pub use preset::Preset;
pub use python::PythonVersion;
pub use session::{
    Opening, Piece, Reply, SessionAnswer, SessionAsk, StateAfter, Variable, Variables,
};
pub use text::OutputText;
pub use tool::{Call, CallStatus, Tool, ToolCall, ToolFault, ToolFaultKind};
pub use visible::{hidden_in, is_hidden, spelled, visible_json};
pub use wire::{
    DisplayFrame, FromJar, FromZygote, GuardFrame, GuardRefusal, GuestFailure, GuestResult,
    JobFrame, KeptFiles, ResultFault, SetupFault, ToJar, ToZygote, WIRE_VERSION,
};
