//! What remains of runs when they are over.
//!
//! A store is a directory of the caller's with a SQLite database in it. A [`Recorder`] is a runner that leaves a
//! record of each run there before it answers; a [`Store`] reads them. Records are chained by their hashes, so
//! that one that is altered, removed or moved is found by [`Store::verify`].
//!
//! ```no_run
//! # async fn example(engine: carboy_engine::Engine) -> Result<(), Box<dyn std::error::Error>> {
//! use carboy_engine::{RunOptions, Runner};
//! use carboy_protocol::Job;
//! use carboy_store::{KeepArtifacts, KeepInputs, Recorder, Store, StoreConfig};
//!
//! let (inputs, artifacts) = (KeepInputs::Digests, KeepArtifacts::Bytes);
//! let config = StoreConfig { directory: "runs".into(), inputs, artifacts };
//! let recorder = Recorder::open(engine, Some(config))?;
//! let outcome = recorder.run_with(Job::new("result = 1"), RunOptions::default()).await?;
//! let record = Store::open("runs")?.find(&outcome.id)?;
//! # Ok(())
//! # }
//! ```
//!
//! Files that runs of a fleet leave are kept in a [`Bucket`] of an object store: [`RunFiles`].
//!
//! This crate parses no command line and starts no code: what it reads back of a guest's is data.
#![forbid(unsafe_code)]

#[cfg(feature = "objects")]
mod artifacts;
mod bucket;
mod checkpoints;
mod digest;
mod draft;
mod error;
mod folder;
mod given;
mod ledger;
mod packages;
mod record;
mod recorder;
mod schema;
mod shelf;
mod store;
mod time;
mod unnamed;
mod verify;
mod writer;

#[cfg(feature = "objects")]
pub use artifacts::{ArtifactStore, Content};
pub use bucket::{Bucket, BucketConfig, Manifest, RunFiles, StoredContent, Uploader};
pub use digest::{Digest, sha256};
pub use error::StoreError;
pub use folder::{Existing, OutFolder, RunFolders};
pub use given::{GivenFile, GivenFiles};
pub use record::{
    About, Event, Facts, InputDigest, JobRest, KeepArtifacts, KeepInputs, PruneFacts, Record,
    RunFacts, RunStatus, VersionsOf, result_sha256,
};
pub use recorder::{Describe, Recorder, StoreConfig, described};
pub use store::{Head, Keep, Query, Removed, Row, Store};
pub use time::{iso8601, since};
pub use unnamed::{copy_exactly, unnamed_file};
pub use verify::{Report, Wrong};
