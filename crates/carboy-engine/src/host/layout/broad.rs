//! Directories that hold so much besides Python that no list may have jars shown them.

use std::path::{Path, PathBuf};

/// Nothing below these is anybody's package.
const NEVER: [&str; 6] = ["/boot", "/dev", "/etc", "/proc", "/run", "/sys"];
/// Neither are these and what lies directly in them.
const NOT_DIRECTLY: [&str; 3] = ["/usr", "/usr/local", "/var"];
/// Nor these themselves.
const NOT_ITSELF: [&str; 12] = [
    "/bin", "/home", "/lib", "/lib64", "/media", "/mnt", "/opt", "/root", "/sbin", "/srv", "/tmp",
    "/snap",
];

/// The directories that are too broad on this host.
pub(super) struct Broad {
    homes: Vec<PathBuf>,
}

impl Broad {
    pub(super) fn here() -> Broad {
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let own = std::env::var_os("HOME").map(PathBuf::from);
        Broad::with(&users, own)
    }

    fn with(users: &str, own: Option<PathBuf>) -> Broad {
        let listed = users.lines().filter_map(|line| line.split(':').nth(5)).map(PathBuf::from);
        let homes = listed.chain(own).filter(|home| home.is_absolute() && home.parent().is_some());
        // With and without links, whichever a path is compared as.
        let real = |home: PathBuf| [home.canonicalize().ok(), Some(home)];
        Broad { homes: homes.flat_map(real).flatten().collect() }
    }

    /// Why a directory, given without links, is too broad; `None` if it is not.
    pub(super) fn why(&self, path: &Path) -> Option<&'static str> {
        let is = |known: &str| path == Path::new(known);
        if path.parent().is_none() {
            return Some("that is the whole host");
        }
        if NEVER.iter().any(|known| path.starts_with(known)) {
            return Some("that belongs to the system");
        }
        let directly = |known: &str| is(known) || path.parent() == Some(Path::new(known));
        if NOT_ITSELF.iter().any(|known| is(known)) || NOT_DIRECTLY.iter().any(|one| directly(one))
        {
            return Some("that holds much besides Python");
        }
        if self.homes.iter().any(|home| home == path) {
            return Some("that is a home directory");
        }
        self.homes
            .iter()
            .any(|home| home.starts_with(path))
            .then_some("that holds home directories")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn homes_what_holds_them_and_the_system_are_too_broad() {
        let users =
            "root:x:0:0::/root:/bin/sh\nme:x:1000:1000::/people/me:/bin/sh\nx:x:9:9::/:/bin/sh\n";
        let broad = Broad::with(users, Some("/somewhere/else/mine".into()));
        for path in [
            "/",
            "/home",
            "/people",
            "/people/me",
            "/root",
            "/etc",
            "/etc/ssl",
            "/proc/1/root",
            "/usr",
            "/usr/lib",
            "/usr/local/lib",
            "/var/lib",
            "/var/tmp",
            "/tmp",
            "/opt",
            "/somewhere",
            "/somewhere/else/mine",
        ] {
            assert!(broad.why(Path::new(path)).is_some(), "{path}");
        }
        for path in [
            "/app",
            "/people/me/project",
            "/opt/tool",
            "/srv/app",
            "/usr/share/tool/lib",
            "/var/tmp/x",
        ] {
            assert_eq!(broad.why(Path::new(path)), None, "{path}");
        }
    }
}
