//! File systems of the kernel are not handed in: what they show is the host, not data.

use std::path::Path;

use rustix::fs::fstatfs;

use crate::error::RequestError;
use crate::tier::{Inputs, Source};

/// Their names in a list of mounts, and their numbers. @table
const KERNEL: [(&str, u64); 24] = [
    ("autofs", 0x0187),
    ("binder", 0x6c6f_6f70),
    ("binfmt_misc", 0x4249_4e4d),
    ("bpf", 0xcafe_4a11),
    ("cgroup", 0x0027_e0eb),
    ("cgroup2", 0x6367_7270),
    ("configfs", 0x6265_6570),
    ("debugfs", 0x6462_6720),
    ("devpts", 0x1cd1),
    ("efivarfs", 0xde5e_81e4),
    ("fusectl", 0x6573_5543),
    ("mqueue", 0x1980_0202),
    ("nfsd", 0x6e66_7364),
    ("nsfs", 0x6e73_6673),
    ("proc", 0x9fa0),
    ("pstore", 0x6165_676c),
    ("resctrl", 0x0765_5821),
    ("rpc_pipefs", 0x6759_6969),
    ("securityfs", 0x7363_6673),
    ("selinuxfs", 0xf97c_ff8c),
    ("smackfs", 0x4341_5d53),
    ("sysfs", 0x6265_6572),
    ("tracefs", 0x7472_6163),
    ("xenfs", 0xabba_1974),
];

/// An error if something given is on such a file system, or has one below it.
pub(super) fn check(inputs: &Inputs) -> Result<(), RequestError> {
    let mut mounts = None;
    for input in &inputs.0 {
        let Source::Host { source, held } = &input.source else { continue };
        let refused = |kind: &str, at: &Path| RequestError::File {
            name: source.name.clone(),
            why: format!("{} is on the kernel's file system {kind}", at.display()),
        };
        let unknown = |error: std::io::Error| RequestError::File {
            name: source.name.clone(),
            why: format!("its file system cannot be told: {error}"),
        };
        let found = fstatfs(held).map_err(|errno| unknown(errno.into()))?;
        let number = found.f_type as u64 & u64::from(u32::MAX);
        if let Some((kind, _)) = KERNEL.iter().find(|(_, magic)| *magic == number) {
            return Err(refused(kind, &source.path));
        }
        if source.directory {
            // One list for all, and only if it is needed.
            let list = match mounts.take() {
                Some(list) => list,
                // Names of others need not be UTF-8, and must not hide the rest.
                None => std::fs::read("/proc/self/mountinfo")
                    .map(|list| String::from_utf8_lossy(&list).into_owned())
                    .map_err(unknown)?,
            };
            let list = mounts.insert(list);
            if let Some((kind, at)) = below(list, &source.path) {
                return Err(refused(kind, Path::new(&at)));
            }
        }
    }
    Ok(())
}

/// The first mount of such a file system below `folder`.
fn below<'a>(mountinfo: &'a str, folder: &Path) -> Option<(&'a str, String)> {
    mountinfo.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let kind = after.split(' ').next()?;
        let at = unescaped(before.split(' ').nth(4)?);
        let is_kernels = KERNEL.iter().any(|(name, _)| *name == kind);
        (is_kernels && Path::new(&at).starts_with(folder)).then_some((kind, at))
    })
}

/// A path of a list of mounts: blanks, tabs, newlines and backslashes stand there as octal numbers.
fn unescaped(path: &str) -> String {
    let pairs = [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")];
    pairs.iter().fold(path.to_owned(), |path, (from, to)| path.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_file_system_below_a_folder_is_found() {
        let list = "22 1 0:5 / / rw - ext4 /dev/vda rw\n\
                    23 22 0:6 / /srv/a\\040b/proc rw shared:2 - proc proc rw\n\
                    24 22 0:7 / /srv/data/more rw - tmpfs tmpfs rw\n";
        let found = below(list, Path::new("/srv/a b"));
        assert_eq!(found, Some(("proc", "/srv/a b/proc".into())));
        assert_eq!(below(list, Path::new("/srv/data")), None);
        assert!(below(list, Path::new("/")).is_some());
    }
}
