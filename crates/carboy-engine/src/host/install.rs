//! Where carboy is: one program, which is also the helper and carries the zygote library.

use std::path::{Path, PathBuf};

use crate::error::EngineError;

/// The program that is started as helper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The `carboy` program.
    pub program: PathBuf,
}

impl Installation {
    /// The program that this process runs, also when its file was replaced or removed meanwhile. Only for
    /// the `carboy` program itself.
    pub fn own() -> Installation {
        Installation { program: "/proc/self/exe".into() }
    }

    /// The `carboy` program at `program`, for an engine in another process.
    pub fn at(program: impl AsRef<Path>) -> Result<Installation, EngineError> {
        let program = program.as_ref();
        match program.canonicalize() {
            Ok(program) => Ok(Installation { program }),
            Err(_) => Err(EngineError::Missing { path: program.into() }),
        }
    }
}
