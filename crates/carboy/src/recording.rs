//! Which store is meant: what was typed, or `CARBOY_STORE`, or the place for what a user's programs keep.

use std::path::PathBuf;

use carboy_store::{KeepArtifacts, KeepInputs, StoreConfig};
use clap::Args;

use crate::failure::Failure;

/// Names a store for everything that records or reads records.
const VARIABLE: &str = "CARBOY_STORE";

/// How `run` is told to leave a record.
#[derive(Args)]
pub struct Recording {
    /// Leave a record of the run: in CARBOY_STORE, or in this directory
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true)]
    record: Option<Option<PathBuf>>,
    /// Keep the inputs in the record too, so that the run can be replayed; otherwise only their digests
    #[arg(long)]
    record_inputs: bool,
    /// Keep the files that the script leaves beside the record too
    #[arg(long)]
    record_artifacts: bool,
}

impl Recording {
    /// Where the record goes, if there is to be one.
    pub fn config(self) -> Result<Option<StoreConfig>, Failure> {
        let directory = match self.record {
            Some(Some(directory)) => Some(directory),
            Some(None) => Some(usual()?),
            None => named(),
        };
        config(directory, self.record_inputs, self.record_artifacts)
    }
}

/// How `pipe` is told to leave records.
#[derive(Args)]
pub struct Records {
    /// Leave a record of every run in this directory, if not in CARBOY_STORE
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Keep the inputs of runs in their records too; otherwise only their digests
    #[arg(long)]
    record_inputs: bool,
    /// Keep the files that runs leave beside their records too
    #[arg(long)]
    record_artifacts: bool,
}

impl Records {
    /// Where the records go, if there are to be any.
    pub fn config(self) -> Result<Option<StoreConfig>, Failure> {
        config(self.store.or_else(named), self.record_inputs, self.record_artifacts)
    }
}

fn config(
    directory: Option<PathBuf>,
    keep_inputs: bool,
    keep_artifacts: bool,
) -> Result<Option<StoreConfig>, Failure> {
    let inputs = if keep_inputs { KeepInputs::Bytes } else { KeepInputs::Digests };
    let artifacts = if keep_artifacts { KeepArtifacts::Bytes } else { KeepArtifacts::Digests };
    if directory.is_none() && (keep_inputs || keep_artifacts) {
        let option = if keep_inputs { "--record-inputs" } else { "--record-artifacts" };
        return Err(Failure::usage(
            format!("{option} has no effect: nothing is recorded"),
            "name a store too: with --record or --store, or in CARBOY_STORE",
        ));
    }
    Ok(directory.map(|directory| StoreConfig { directory, inputs, artifacts }))
}

/// The store that the environment names.
pub fn named() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(Into::into)
}

/// The store that is meant if none was typed.
pub fn usual() -> Result<PathBuf, Failure> {
    named().or_else(state_folder).ok_or_else(|| {
        Failure::usage(
            "it is not known where runs are recorded: neither CARBOY_STORE nor HOME is set",
            "name a directory with --store, or in CARBOY_STORE",
        )
    })
}

/// Where this user's programs keep what they have to, for this one.
pub fn state_folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")));
    folder.map(|folder| folder.join("carboy"))
}
