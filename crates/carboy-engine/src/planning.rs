//! Policy + host + interpreter → plan. Everything is decided here; nothing after this decides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use carboy_jail::profile::Profile;
use carboy_jail::{
    JAR_FDS, JarDirectory, JarPlan, JarWalls, LandlockPlan, Link, Mount, MountKind, Resource,
    Rlimit, ZygotePlan, filter,
};
use carboy_protocol::{Limits, Policy, SetupFault, WIRE_VERSION, Walls};
use serde::Serialize;

use crate::engine::new_id;
use crate::error::While;
use crate::scratch;
use crate::{EngineError, Host, Installation, Python};

/// The least Landlock version that both walls promise: file rules that cover truncation.
pub(crate) const LANDLOCK_LEAST: u32 = 3;
/// Where the zygote library lies inside full walls.
const LIBRARY_INSIDE: &str = "/carboy/zygote.so";
/// Room in the address space for mapped files, and for what the C library reserves for each thread.
/// Neither takes private memory.
const MAPPED_ROOM: u64 = 4 << 30;

/// Where the loader finds libraries, and what else an interpreter reads of a host.
const SYSTEM_READABLE: [&str; 6] = [
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
];
/// What numerical libraries ask how many threads they may start.
const THREADS: [&str; 4] =
    ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"];
const DEVICES: [&str; 3] = ["/dev/null", "/dev/random", "/dev/urandom"];

/// What a zygote uses before any jar is forked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Baseline {
    /// Its private memory.
    pub data_bytes: u64,
    /// Its address space.
    pub address_bytes: u64,
    /// Its resident memory that no file backs.
    pub anonymous_bytes: u64,
}

/// A policy resolved against a host, as `carboy explain` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    /// The policy it came from, with every default.
    pub policy: Policy,
    /// What the helper builds and becomes.
    pub zygote: ZygotePlan,
    /// What every jar is sealed to.
    pub walls: JarWalls,
    /// What this jar is sealed to. Memory limits are counted from what the zygote holds, so they
    /// stand here as if it held nothing.
    pub jar: JarPlan,
}

/// What is to run, and on what.
pub(crate) struct Setting {
    pub host: Host,
    pub installation: Installation,
    pub python: Python,
    pub preload: Vec<String>,
    pub scratch: PathBuf,
}

/// What of a policy the kernel is told when a jar is sealed. Jars of one shape are alike; all other
/// limits are the engine's to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    walls: Walls,
    cpu_seconds: u64,
    memory_bytes: u64,
    file_bytes: u64,
    files: u64,
    open_files: u64,
}

impl Shape {
    pub fn of(policy: &Policy) -> Shape {
        let limits = &policy.limits;
        Shape {
            walls: policy.walls,
            cpu_seconds: limits.cpu_ms.div_ceil(1000),
            memory_bytes: limits.memory_bytes,
            file_bytes: limits.file_bytes,
            files: limits.files,
            open_files: limits.open_files,
        }
    }
}

impl Setting {
    /// The plan for a policy.
    pub fn plan(&self, policy: &Policy) -> Result<Plan, EngineError> {
        Ok(Plan {
            policy: policy.clone(),
            zygote: self.zygote(policy.walls, None),
            walls: self.walls(policy.walls)?,
            jar: jar(policy, &self.temporary(), Baseline::default()),
        })
    }

    /// The walls of a zygote. `folder` is where its jars write on the host, if they do.
    pub fn zygote(&self, walls: Walls, folder: Option<PathBuf>) -> ZygotePlan {
        let home = folder.clone().unwrap_or_else(|| self.temporary());
        let (mounts, links, library) = match walls {
            Walls::Full => {
                let (mut mounts, links) = tree(&self.readable());
                mounts.extend(DEVICES.iter().map(|device| mount(device, MountKind::Device)));
                mounts.push(Mount {
                    source: self.installation.zygote.clone(),
                    target: LIBRARY_INSIDE.into(),
                    kind: MountKind::File,
                });
                (mounts, links, PathBuf::from(LIBRARY_INSIDE))
            }
            Walls::Nested => (vec![], vec![], self.installation.zygote.clone()),
        };
        let plan = ZygotePlan {
            wire: WIRE_VERSION,
            walls,
            identity: self.host.identity(walls),
            hostname: "jar".into(),
            mounts,
            links,
            temporary: (walls == Walls::Full).then(|| self.temporary()),
            remove_at_end: folder,
            program: self.python.program.clone(),
            arguments: vec!["-I".into(), "-B".into(), "-c".into(), self.boot(&library)],
            environment: environment(&home, &self.python.program),
        };
        #[cfg(feature = "ablation")]
        let plan = weakened(plan, crate::ablation::zygote);
        plan
    }

    /// What all jars of a zygote have in common.
    pub fn walls(&self, walls: Walls) -> Result<JarWalls, EngineError> {
        let abi = self.host.landlock_abi;
        if abi < LANDLOCK_LEAST {
            return Err(EngineError::Walls(SetupFault {
                layer: "landlock".into(),
                step: "landlock_create_ruleset".into(),
                object: "version".into(),
                answer: format!("the kernel offers {abi}, at least {LANDLOCK_LEAST} is needed"),
            }));
        }
        let profile = profile(walls)?;
        let mut readable: Vec<PathBuf> = match walls {
            Walls::Full => {
                let (mounts, _) = tree(&self.readable());
                mounts.into_iter().map(|mount| mount.target).collect()
            }
            Walls::Nested => tree(&self.readable()).0.into_iter().map(|m| m.source).collect(),
        };
        readable.extend(DEVICES.iter().map(PathBuf::from));
        let walls = JarWalls {
            walls,
            identity: self.host.identity(walls),
            hostname: "jar".into(),
            landlock: LandlockPlan { abi, readable },
            profile: profile.name.clone(),
            program: filter::compile(&profile),
            closing: filter::compile_closing(&profile),
        };
        #[cfg(feature = "ablation")]
        let walls = weakened(walls, crate::ablation::walls);
        Ok(walls)
    }

    /// The temporary directory inside full walls: `/tmp`, unless that would cover something that
    /// is to be read.
    pub fn temporary(&self) -> PathBuf {
        let tmp = Path::new("/tmp");
        let taken = tree(&self.readable()).0.iter().any(|mount| mount.target.starts_with(tmp));
        if taken { "/var/tmp".into() } else { tmp.into() }
    }

    /// Makes a private directory on the host for the jars of one zygote.
    pub fn folder(&self) -> std::io::Result<PathBuf> {
        let id = new_id().map_err(std::io::Error::other)?;
        let path = self.scratch.canonicalize()?.join(format!("carboy-{id}"));
        scratch::make_private(&path, &self.host.identity(Walls::Nested))?;
        Ok(path)
    }

    /// How many threads numerical libraries may start for themselves under these limits.
    fn library_threads(&self, limits: &Limits) -> u64 {
        limits.threads.clamp(1, self.host.processors.max(1))
    }

    /// Where the environment of a jar differs from what jars of its zygote have anyway.
    pub fn own_environment(&self, policy: &Policy, temporary: &Path) -> BTreeMap<String, String> {
        let mut own = BTreeMap::new();
        let threads = self.library_threads(&policy.limits);
        if threads != self.library_threads(&Limits::default()) {
            own = thread_variables(threads);
        }
        if policy.walls == Walls::Nested {
            let temporary = temporary.to_string_lossy();
            own.extend(["HOME", "TMPDIR"].map(|name| (name.to_owned(), temporary.to_string())));
        }
        own
    }

    /// What the interpreter is started with: load the library, run its Python half.
    fn boot(&self, library: &Path) -> String {
        let names = serde_json::json!({
            "preload": self.preload,
            "environment": thread_variables(self.library_threads(&Limits::default())),
        });
        boot(library, &names)
    }

    fn readable(&self) -> Vec<PathBuf> {
        let system = SYSTEM_READABLE.iter().map(PathBuf::from).filter(|path| path.exists());
        let mut paths: Vec<PathBuf> = system.collect();
        paths.push(self.python.program.clone());
        paths.extend(self.python.readable.iter().cloned());
        paths
    }
}

/// What tells numerical libraries how many threads they may start.
fn thread_variables(threads: u64) -> BTreeMap<String, String> {
    THREADS.iter().map(|name| ((*name).to_owned(), threads.to_string())).collect()
}

/// The system-call profile behind these walls.
pub(crate) fn profile(walls: Walls) -> Result<Profile, EngineError> {
    Profile::process(walls)
        .map_err(std::io::Error::other)
        .while_doing("read the system-call profile")
}

/// The kernel's limits and the writable directory of one jar.
///
/// `place` is the temporary directory in full walls, the jar's own directory on the host in nested.
pub(crate) fn jar(policy: &Policy, place: &Path, baseline: Baseline) -> JarPlan {
    let limits = &policy.limits;
    let directory = match policy.walls {
        Walls::Full => JarDirectory::Memory {
            temporary: place.into(),
            bytes: limits.file_bytes,
            inodes: limits.files,
        },
        Walls::Nested => JarDirectory::Host { path: place.into() },
    };
    JarPlan { directory, rlimits: rlimits(limits, baseline) }
}

/// A plan with a layer missing.
#[cfg(feature = "ablation")]
fn weakened<T>(mut plan: T, weaken: impl Fn(&mut T)) -> T {
    weaken(&mut plan);
    plan
}

fn rlimits(limits: &Limits, baseline: Baseline) -> Vec<Rlimit> {
    let data = baseline.data_bytes + limits.memory_bytes;
    let address = baseline.address_bytes + limits.memory_bytes + MAPPED_ROOM;
    let list = [
        (Resource::Cpu, limits.cpu_ms.div_ceil(1000)),
        (Resource::Data, data),
        (Resource::AddressSpace, address),
        (Resource::Stack, 8 << 20),
        (Resource::FileSize, limits.file_bytes),
        (Resource::OpenFiles, open_files(limits)),
        (Resource::Core, 0),
        (Resource::Memlock, 0),
        (Resource::PendingSignals, 64),
        (Resource::MessageQueues, 0),
        (Resource::RealtimePriority, 0),
    ];
    list.into_iter().map(|(resource, value)| Rlimit { resource, value }).collect()
}

/// The policy counts the guest's own files; the jar's descriptors come on top.
pub(crate) fn open_files(limits: &Limits) -> u64 {
    limits.open_files + JAR_FDS.len() as u64
}

/// The whole environment of a zygote. Guest code sees these, but for the loader's, and nothing
/// else.
fn environment(home: &Path, program: &Path) -> Vec<(String, String)> {
    let home = home.to_string_lossy().into_owned();
    let mut all = vec![
        ("HOME".to_owned(), home.clone()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("TMPDIR".to_owned(), home),
    ];
    // Without /proc the loader cannot find out where a program lies, and interpreters that look
    // for their library relative to themselves depend on it.
    if let Some(folder) = program.canonicalize().ok().as_deref().and_then(Path::parent) {
        all.push(("LD_ORIGIN_PATH".to_owned(), folder.to_string_lossy().into_owned()));
    }
    // Symbols are looked up once, before the first fork, and not again in each.
    all.push(("LD_BIND_NOW".to_owned(), "1".to_owned()));
    // A zygote has one thread: whoever forks must.
    all.extend(thread_variables(1));
    all
}

/// Loads the library and runs its Python half, which sees `names`: strings, lists and objects of
/// them, which Python reads as JSON writes them.
fn boot(library: &Path, names: &serde_json::Value) -> String {
    format!(
        "import ctypes\n\
         lib = ctypes.PyDLL({})\n\
         lib.carboy_python_half.restype = ctypes.c_char_p\n\
         exec(compile(lib.carboy_python_half().decode(), '<carboy>', 'exec'), \
         {{'lib': lib, **{names}}})\n",
        serde_json::Value::from(library.to_string_lossy()),
    )
}

fn mount(path: &str, kind: MountKind) -> Mount {
    Mount { source: path.into(), target: path.into(), kind }
}

/// The mounts and links that make `paths` readable at their own places: each link on the way is
/// made again, each real place is mounted once, and nothing that lies in another is mounted twice.
fn tree(paths: &[PathBuf]) -> (Vec<Mount>, Vec<Link>) {
    let mut links: Vec<Link> = Vec::new();
    let mut real = BTreeSet::new();
    for path in paths {
        real.extend(resolve(path, &mut links));
    }
    // Sorted: what contains another comes before it.
    let mut kept: Vec<PathBuf> = Vec::new();
    for path in real {
        if !kept.iter().any(|folder| path.starts_with(folder)) {
            kept.push(path);
        }
    }
    links.retain(|link| !kept.iter().any(|folder| link.path.starts_with(folder)));
    let mounts = kept.into_iter().map(|path| {
        let kind = if path.is_dir() { MountKind::Directory } else { MountKind::File };
        Mount { source: path.clone(), target: path, kind }
    });
    (mounts.collect(), links)
}

/// Walks a path as the kernel would, noting each link, and returns where it leads.
fn resolve(path: &Path, links: &mut Vec<Link>) -> Option<PathBuf> {
    let mut done = PathBuf::from("/");
    let mut todo: Vec<std::ffi::OsString> = Vec::new();
    let push = |todo: &mut Vec<std::ffi::OsString>, path: &Path| {
        todo.extend(path.components().rev().filter_map(|part| match part {
            Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
            _ => None,
        }));
    };
    push(&mut todo, path);
    let mut followed = 0;
    while let Some(part) = todo.pop() {
        if part == ".." {
            done.pop();
            continue;
        }
        let here = done.join(&part);
        let Ok(target) = std::fs::read_link(&here) else {
            done = here;
            continue;
        };
        followed += 1;
        if followed > 40 {
            return None;
        }
        let link = Link { path: here, target: target.clone() };
        if !links.contains(&link) {
            links.push(link);
        }
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        push(&mut todo, &target);
    }
    done.exists().then_some(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_made_again_and_places_mounted_once() {
        let base = std::env::temp_dir().join(format!("carboy-plan-{}", std::process::id()));
        std::fs::create_dir_all(base.join("real/bin/deep")).unwrap();
        symlink("real", base.join("alias")).unwrap();
        symlink(base.join("alias/bin"), base.join("bin")).unwrap();
        let paths = [base.join("bin"), base.join("real/bin/deep"), base.join("missing")];
        let (mounts, links) = tree(&paths);
        let base_real = base.canonicalize().unwrap();
        std::fs::remove_dir_all(&base).unwrap();
        let targets: Vec<_> = mounts.iter().map(|mount| mount.target.clone()).collect();
        assert_eq!(targets, [base_real.join("real/bin")]);
        let made: Vec<_> = links.iter().map(|link| link.path.clone()).collect();
        assert!(made.contains(&base.join("bin")) && made.contains(&base.join("alias")));
    }

    #[test]
    fn a_module_name_cannot_leave_its_quotes() {
        let names = serde_json::json!({ "preload": ["a'); import os; ('\""] });
        let text = boot(Path::new("/x\"y"), &names);
        assert!(text.contains(r#""/x\"y""#) && text.contains(r#"["a'); import os; ('\""]"#));
    }

    #[test]
    fn limits_count_from_what_the_zygote_holds() {
        let baseline = Baseline { data_bytes: 1000, address_bytes: 5000, ..Baseline::default() };
        let plan = jar(&Policy::default(), Path::new("/x"), baseline);
        let value = |resource| plan.rlimits.iter().find(|l| l.resource == resource).unwrap().value;
        assert_eq!(value(Resource::Data), 1000 + (256 << 20));
        assert_eq!(value(Resource::Cpu), 10);
        assert_eq!(value(Resource::OpenFiles), 69);
        assert_eq!(value(Resource::Core), 0);
    }
}
