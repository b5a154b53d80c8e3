//! Plans: a policy resolved against a host. Every path, flag and number; no decision left.

use std::os::fd::RawFd;
use std::path::PathBuf;

use carboy_protocol::Walls;
use carboy_sys::seccomp::Instruction;
use serde::{Deserialize, Serialize};

use crate::landlock::Substitute;
use crate::limits::Rlimit;

/// The number at which a zygote finds its control socket.
pub const ZYGOTE_CONTROL_FD: RawFd = 3;
/// The number at which a zygote finds its `oom_score_adj` open.
pub const ZYGOTE_SCORE_FD: RawFd = 4;
/// The number at which the interpreter finds the zygote library open in nested walls; in full walls it
/// is a file of the private root.
pub const ZYGOTE_LIBRARY_FD: RawFd = 5;
/// What a jar holds: standard streams, the pipe its job comes through, the pipe its frames go to.
pub const JAR_FDS: [RawFd; 5] = [0, 1, 2, 3, 4];
/// Where a jar holds the socket for its last word while it seals itself; closed before any guest
/// code runs.
pub const SECCOMP_FD: RawFd = 5;

/// Where shared memory has its names inside full walls. Only jars can write there.
pub const SHARED_MEMORY: &str = "/dev/shm";

/// The user and group of a zygote and its jars.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The user on the host.
    pub outer_uid: u32,
    /// The group on the host.
    pub outer_gid: u32,
    /// The user inside. Equal to `outer_uid` where there is no user namespace.
    pub inner_uid: u32,
    /// The group inside.
    pub inner_gid: u32,
    /// Whether the engine runs as another user (root) and must switch to this one.
    pub step_down: bool,
}

/// What kind of thing a mount is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MountKind {
    /// A directory with everything below it, read-only.
    Directory,
    /// One file, read-only.
    File,
    /// One device file.
    Device,
}

/// One thing of the host that is visible inside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// Where it is on the host.
    pub source: PathBuf,
    /// Where it is inside.
    pub target: PathBuf,
    /// What it is.
    pub kind: MountKind,
}

/// A symbolic link of the private root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Its own path.
    pub path: PathBuf,
    /// Where it points.
    pub target: PathBuf,
}

/// A small file with a generated text, in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextFile {
    /// Its own path.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// Everything that a helper needs to build the walls of a zygote and start it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ZygotePlan {
    /// [`carboy_protocol::WIRE_VERSION`] of the engine.
    pub wire: u32,
    /// Which walls.
    pub walls: Walls,
    /// Who it is.
    pub identity: Identity,
    /// How soon the kernel ends it when memory runs out: after every jar, and before the engine.
    pub oom_score_adj: i32,
    /// The host name inside.
    pub hostname: String,
    /// What is visible of the host. Empty in nested walls, where Landlock alone restricts paths.
    pub mounts: Vec<Mount>,
    /// Links of the private root.
    pub links: Vec<Link>,
    /// Empty directories of the private root, over which what a run is given is mounted.
    pub folders: Vec<PathBuf>,
    /// Generated files of the private root: what a small computer would say of itself.
    pub files: Vec<TextFile>,
    /// Where the zygote library lies in the private root. None in nested walls, where the interpreter
    /// finds it open at [`ZYGOTE_LIBRARY_FD`].
    pub library: Option<PathBuf>,
    /// Where the zygote may write while it imports, in memory (full walls). Jars mount their own
    /// over it.
    pub temporary: Option<PathBuf>,
    /// A directory of the host that the helper removes with everything in it at the end (nested
    /// walls: what jars wrote).
    pub remove_at_end: Option<PathBuf>,
    /// The interpreter, as it is called inside.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: Vec<(String, String)>,
}

/// Where a jar may write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JarDirectory {
    /// A file system in memory that is the jar's own, seen as `/jar`, as its temporary directory and
    /// as `/dev/shm`.
    Memory {
        /// The temporary directory: `/tmp`, unless something readable lies below that.
        temporary: PathBuf,
        /// Its size.
        bytes: u64,
        /// How many files and directories it can hold.
        inodes: u64,
        /// What tells of this jar and its limits, read-only, beside those directories.
        about: About,
    },
    /// A private directory of the host that holds `jar` and `tmp` (nested walls).
    Host {
        /// Its path.
        path: PathBuf,
    },
}

/// What a jar is told of itself. It lies on the jar's own file system, and comes on top of its size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Where that file system shows, read-only.
    pub place: PathBuf,
    /// Generated files, relative to the place.
    pub files: Vec<TextFile>,
    /// Links, relative to the place.
    pub links: Vec<Link>,
}

impl About {
    /// Every path that is made for it.
    pub fn paths(&self) -> Vec<PathBuf> {
        let files = self.files.iter().map(|file| &file.path);
        let names = files.chain(self.links.iter().map(|link| &link.path));
        names.map(|name| self.place.join(name)).collect()
    }
}

/// The rules for Landlock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandlockPlan {
    /// The version that must be enforced.
    pub abi: u32,
    /// What this version does not cover, and which layer does instead.
    pub instead: Vec<Substitute>,
    /// Paths that can be read, with everything below them.
    pub readable: Vec<PathBuf>,
    /// Directories that can be listed, with everything below them, and whose files cannot be read by this.
    pub listed: Vec<PathBuf>,
}

/// What is the same for every jar of a zygote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JarWalls {
    /// Which walls.
    pub walls: Walls,
    /// Who it is.
    pub identity: Identity,
    /// How far it yields the processor to others.
    pub nice: i32,
    /// How soon the kernel ends it when memory runs out.
    pub oom_score_adj: i32,
    /// The host name inside.
    pub hostname: String,
    /// The rules for Landlock.
    pub landlock: LandlockPlan,
    /// The name of the system-call profile.
    pub profile: String,
    /// The profile, compiled.
    #[serde(with = "program")]
    pub program: Vec<Instruction>,
    /// The second filter, which revokes what only sealing needed.
    #[serde(with = "program")]
    pub closing: Vec<Instruction>,
}

/// What is particular to one jar.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JarPlan {
    /// Where it may write.
    pub directory: JarDirectory,
    /// The kernel's limits on it.
    pub rlimits: Vec<Rlimit>,
    /// What of the host its run is given to read, where nothing can be mounted (nested walls).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<HostSource>,
}

/// A file or a directory of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSource {
    /// What the caller calls it.
    pub name: String,
    /// Where it is: absolute, and through no link.
    pub path: PathBuf,
    /// Whether it is a directory.
    pub directory: bool,
    /// The file system that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// What something given consists of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GivenSource {
    /// Something of the host.
    Host(HostSource),
    /// Bytes of the file that comes with the request.
    Bytes {
        /// Where they begin.
        start: u64,
        /// How many there are.
        length: u64,
    },
}

/// One thing that a run is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The folder that it is found in, as an absolute path inside.
    pub folder: PathBuf,
    /// Where it is below that; empty if it is the folder itself.
    pub below: PathBuf,
    /// What it is.
    pub source: GivenSource,
}

/// What a jar in full walls is given between its sealing and its job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandIn {
    /// Who the jar is.
    pub identity: Identity,
    /// What it is given. Things of one folder follow each other.
    pub given: Vec<Given>,
    /// Links of its working directory.
    pub links: Vec<Link>,
    /// How many inodes its file system is to have, these links included.
    pub inodes: u64,
    /// Whether somebody is to stand ready for the next request afterwards.
    pub stand_ready: bool,
}

/// Instructions on the wire: plain numbers, because `carboy-sys` knows no serde.
mod program {
    use super::Instruction;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(program: &[Instruction], to: S) -> Result<S::Ok, S::Error> {
        let plain: Vec<(u16, u8, u8, u32)> = program
            .iter()
            .map(|step| (step.code, step.jump_true, step.jump_false, step.constant))
            .collect();
        plain.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Instruction>, D::Error> {
        let plain = Vec::<(u16, u8, u8, u32)>::deserialize(from)?;
        let step = |(code, jump_true, jump_false, constant)| Instruction {
            code,
            jump_true,
            jump_false,
            constant,
        };
        Ok(plain.into_iter().map(step).collect())
    }
}
