//! The computer that code is told it is on: its name, its user, its processors.

use carboy_protocol::Limits;

use crate::host::Host;

/// The host name inside.
pub(super) const HOSTNAME: &str = "jar";
/// The user's name inside.
pub(super) const USER: &str = "jar";
/// The user and group of guest code inside full walls.
pub(super) const INSIDE: u32 = 1000;
/// The folders of the private root that hold nothing but generated files, and what is mounted there
/// because it can be read.
pub(super) const FOLDERS: [&str; 3] = ["/etc", "/proc", "/sys"];
/// No code is told of more processors: each is some lines in files that a jar may bring along.
const MOST_PROCESSORS: u64 = 256;

/// A program uses several libraries with threads of their own, and each starts as many as it finds
/// processors.
const LIBRARIES: u64 = 4;

/// How many processors code under these limits is told of, and how many threads libraries may start for
/// themselves.
pub(super) fn processors(host: &Host, limits: &Limits) -> u64 {
    (limits.threads / LIBRARIES).clamp(1, host.processors.clamp(1, MOST_PROCESSORS))
}
