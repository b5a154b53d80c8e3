//! Where the parts of belljar are.

use std::path::{Path, PathBuf};

use crate::EngineError;

/// The program that serves as helper, and the library an interpreter loads to become a zygote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The `belljar` program.
    pub program: PathBuf,
    /// `libbelljar_zygote.so`.
    pub zygote: PathBuf,
}

const LIBRARY: &str = "libbelljar_zygote.so";

impl Installation {
    /// The installation that `program` belongs to: the library lies beside it, or in
    /// `../lib/belljar`.
    pub fn beside(program: impl AsRef<Path>) -> Result<Installation, EngineError> {
        let program = program.as_ref();
        let missing = |what, path: &Path| EngineError::Missing { what, path: path.into() };
        let program =
            program.canonicalize().map_err(|_| missing("the belljar program", program))?;
        let folder = program.parent().unwrap_or(Path::new("/"));
        let beside = folder.join(LIBRARY);
        let places = [beside.clone(), folder.join("../lib/belljar").join(LIBRARY)];
        let zygote = places
            .iter()
            .find_map(|place| place.canonicalize().ok())
            .ok_or_else(|| missing("the zygote library", &beside))?;
        Ok(Installation { program, zygote })
    }
}
