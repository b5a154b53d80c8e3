//! Where the parts of carboy are.

use std::path::{Path, PathBuf};

use crate::error::EngineError;

/// The program that serves as helper, and the library an interpreter loads to become a zygote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The `carboy` program.
    pub program: PathBuf,
    /// `libcarboy_zygote.so`.
    pub zygote: PathBuf,
}

const LIBRARY: &str = "libcarboy_zygote.so";

impl Installation {
    /// The installation that `program` belongs to: the library lies beside it, or in
    /// `../lib/carboy`.
    pub fn beside(program: impl AsRef<Path>) -> Result<Installation, EngineError> {
        let program = program.as_ref();
        let missing = |what, path: &Path| EngineError::Missing { what, path: path.into() };
        let program = program.canonicalize().map_err(|_| missing("the carboy program", program))?;
        let folder = program.parent().unwrap_or(Path::new("/"));
        let beside = folder.join(LIBRARY);
        let places = [beside.clone(), folder.join("../lib/carboy").join(LIBRARY)];
        let zygote = places
            .iter()
            .find_map(|place| place.canonicalize().ok())
            .ok_or_else(|| missing("the zygote library", &beside))?;
        Ok(Installation { program, zygote })
    }
}
