//! Why a store could not do what it was asked.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::ErrorCode;

/// A step on a store that failed. It is told to every run that waited for it.
#[derive(Clone, Debug, thiserror::Error)]
#[error("could not {step} the run store {}", .store.display())]
pub struct StoreError {
    /// What was being done.
    pub step: &'static str,
    /// The store's directory.
    pub store: PathBuf,
    #[source]
    cause: Cause,
}

/// What stands behind it.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum Cause {
    #[error("{0}")]
    Sqlite(Arc<rusqlite::Error>),
    #[error("{0}")]
    Os(Arc<std::io::Error>),
    #[error("{0}")]
    Found(String),
}

impl From<rusqlite::Error> for Cause {
    fn from(error: rusqlite::Error) -> Cause {
        Cause::Sqlite(Arc::new(error))
    }
}

impl From<std::io::Error> for Cause {
    fn from(error: std::io::Error) -> Cause {
        Cause::Os(Arc::new(error))
    }
}

impl From<serde_json::Error> for Cause {
    fn from(error: serde_json::Error) -> Cause {
        Cause::Found(format!("what is kept cannot be read: {error}"))
    }
}

impl Cause {
    /// Whether another process holds the store.
    pub fn is_busy(&self) -> bool {
        let Cause::Sqlite(error) = self else { return false };
        error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
    }
}

impl StoreError {
    pub(crate) fn found(step: &'static str, store: &Path, what: impl Into<String>) -> StoreError {
        StoreError { step, store: store.into(), cause: Cause::Found(what.into()) }
    }

    /// Whether what was asked for is not there or not a store: the caller's mistake.
    pub fn is_request(&self) -> bool {
        matches!(self.cause, Cause::Found(_))
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        let error = match &self.cause {
            Cause::Sqlite(error) => error,
            Cause::Os(_) => {
                return "name a directory that this user can write, with --store or CARBOY_STORE";
            }
            Cause::Found(_) => {
                return "runs are recorded with `carboy run --record`, or where CARBOY_STORE or --store name a directory; \
                        `carboy runs` lists them";
            }
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                "the disk is full: make room first, then `carboy runs prune` removes old records (that needs room itself)"
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
                "name a directory that this user can write, with --store or CARBOY_STORE"
            }
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                "another process holds the store: end it, or try again"
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                "the file is damaged: keep a copy, and begin another store"
            }
            _ => "see whether its disk is full or read-only, and whether this user may write there",
        }
    }
}

/// Adds what was being done to which store.
pub(crate) trait While<T> {
    fn while_doing(self, step: &'static str, store: &Path) -> Result<T, StoreError>;
}

impl<T, E: Into<Cause>> While<T> for Result<T, E> {
    fn while_doing(self, step: &'static str, store: &Path) -> Result<T, StoreError> {
        self.map_err(|error| StoreError { step, store: store.into(), cause: error.into() })
    }
}
