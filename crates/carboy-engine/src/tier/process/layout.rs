//! What a run in nested walls is given, laid out as links: nothing can be mounted there.
//!
//! The folder lies beside the jar's own directory, where the guest can read and not write. Landlock's rules
//! name it and each source, so a link to anything else leads nowhere.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use carboy_jail::HostSource;

use crate::tier::{Inputs, Source};

/// Makes the folder for what is given at `folder`, and the links to it in `jar`. What has to be readable,
/// and which links these are.
pub(super) fn lay_out(
    folder: &Path,
    jar: &Path,
    inputs: &Inputs,
) -> io::Result<(Vec<HostSource>, Vec<PathBuf>)> {
    make_folder(folder)?;
    let found = fs::metadata(folder)?;
    let mut readable = vec![HostSource {
        name: "inputs".into(),
        path: folder.into(),
        directory: true,
        device: found.dev(),
        inode: found.ino(),
    }];
    for input in &inputs.0 {
        let mut at = folder.to_path_buf();
        let parts = Path::new(input.folder.trim_start_matches('/')).join(&input.below);
        let mut parts = parts.components().peekable();
        while let Some(part) = parts.next() {
            at.push(part);
            if parts.peek().is_some() && !at.is_dir() {
                make_folder(&at)?;
            }
        }
        match &input.source {
            Source::Host { source, .. } => {
                symlink(&source.path, &at)?;
                readable.push(source.clone());
            }
            Source::Bytes(bytes) => {
                fs::write(&at, bytes)?;
                fs::set_permissions(&at, PermissionsExt::from_mode(0o444))?;
            }
        }
    }
    let links = inputs.links(|of| folder.join(of.trim_start_matches('/')));
    for link in &links {
        symlink(&link.target, jar.join(&link.path))?;
    }
    Ok((readable, links.into_iter().map(|link| link.path).collect()))
}

/// A directory that the jar's user, who may not be ours, can read.
fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir(path)?;
    fs::set_permissions(path, PermissionsExt::from_mode(0o755))
}
