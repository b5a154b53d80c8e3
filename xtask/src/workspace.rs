//! What `cargo metadata` says about the crates of this workspace.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

/// The part of `cargo metadata` that the checks read.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    pub(crate) packages: Vec<Package>,
    workspace_root: PathBuf,
}

/// One crate of the workspace.
#[derive(Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// None in a crate that names none.
    pub(crate) license: Option<String>,
    /// Where it comes from; none for a crate of this workspace.
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

/// One line of a dependency table. `name` is the real name, also when the crate is renamed.
#[derive(Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) req: String,
    pub(crate) kind: Option<String>,
    pub(crate) path: Option<PathBuf>,
}

/// One thing that cargo builds from a crate.
#[derive(Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

impl Workspace {
    /// Asks the cargo that runs this command, without the network.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        Self::ask(root, &["--no-deps"])
    }

    /// The same with every crate from outside that a target needs, with all features.
    pub(crate) fn with_dependencies(root: &Path, target: &str) -> io::Result<Self> {
        Self::ask(root, &["--all-features", "--filter-platform", target])
    }

    fn ask(root: &Path, more: &[&str]) -> io::Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--offline", "--locked"])
            .args(more)
            .current_dir(root)
            .output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(io::Error::other(format!("cargo metadata failed: {}", said.trim_end())));
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// A path of the metadata, which are absolute, as a path from the root.
    pub(crate) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace_root).unwrap_or(path).display().to_string()
    }
}

impl Dependency {
    /// Whether the dependency is part of what is built, and not only of its tests.
    pub(crate) fn is_built_in(&self) -> bool {
        self.kind.as_deref() != Some("dev")
    }

    /// Whether it is a crate of this workspace.
    pub(crate) fn is_ours(&self) -> bool {
        self.path.is_some()
    }
}

impl Target {
    /// Whether this is the root of a library or a program, and not a test, a bench or an example.
    pub(crate) fn is_crate_root(&self) -> bool {
        const OTHER: [&str; 4] = ["test", "bench", "example", "custom-build"];
        !self.kind.iter().any(|kind| OTHER.contains(&kind.as_str()))
    }
}
