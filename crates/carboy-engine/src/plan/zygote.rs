//! What a helper builds and becomes: the place of a zygote, and what its interpreter is started with.

use std::path::{Path, PathBuf};

use carboy_jail::{Link, Mount, MountKind, TextFile, ZYGOTE_LIBRARY_FD, ZygotePlan};
use carboy_protocol::{WIRE_VERSION, Walls};

use crate::plan::base::Base;
use crate::plan::computer::HOSTNAME;
use crate::plan::environment::{environment, usual_threads};
use crate::plan::given;
use crate::plan::place;
use crate::plan::walls::{DEVICES, identity, zygote_score};

/// Where the zygote library lies inside full walls.
const LIBRARY_INSIDE: &str = "/carboy/zygote.so";

/// What of the host is visible to a zygote, and where.
#[derive(Default)]
struct Inside {
    mounts: Vec<Mount>,
    links: Vec<Link>,
    folders: Vec<PathBuf>,
    files: Vec<TextFile>,
    library: Option<PathBuf>,
    temporary: Option<PathBuf>,
}

/// The walls of a zygote that imports `preload`. `folder` is where its jars write on the host, if they
/// do.
pub(crate) fn zygote(
    base: &Base,
    walls: Walls,
    folder: Option<PathBuf>,
    preload: &[String],
) -> ZygotePlan {
    let home = folder.clone().unwrap_or_else(|| base.temporary.clone());
    let inside = match walls {
        Walls::Full => private_root(base),
        Walls::Nested => Inside::default(),
    };
    let boot = boot(base, inside.library.as_deref(), preload);
    let plan = ZygotePlan {
        wire: WIRE_VERSION,
        walls,
        identity: identity(&base.host, walls),
        oom_score_adj: zygote_score(&base.host),
        hostname: HOSTNAME.into(),
        mounts: inside.mounts,
        links: inside.links,
        folders: inside.folders,
        files: inside.files,
        library: inside.library,
        temporary: inside.temporary,
        remove_at_end: folder,
        program: base.python.program.clone(),
        arguments: vec![
            "-I".into(),
            "-B".into(),
            // From 3.14 on another process could have an interpreter run code of its own. Older ones do
            // not know the option and pass over it; the variable for it is no use under `-I`.
            "-X".into(),
            "disable-remote-debug".into(),
            "-c".into(),
            boot,
        ],
        environment: environment(&home),
    };
    #[cfg(feature = "ablation")]
    let plan = crate::plan::ablation::zygote(plan);
    plan
}

/// A root of its own, with what can be read, the devices and the library in it.
fn private_root(base: &Base) -> Inside {
    let mut mounts = base.mounts.clone();
    mounts.extend(DEVICES.map(|device| Mount {
        source: device.into(),
        target: device.into(),
        kind: MountKind::Device,
    }));
    Inside {
        mounts,
        links: [base.links.clone(), place::links(base), given::links(base)].concat(),
        folders: given::folders(base),
        files: place::files(base),
        library: Some(LIBRARY_INSIDE.into()),
        temporary: Some(base.temporary.clone()),
    }
}

/// What the interpreter is started with: load the library, run its Python half.
fn boot(base: &Base, library: Option<&Path>, preload: &[String]) -> String {
    let names = serde_json::json!({
        "preload": preload,
        "environment": usual_threads(&base.host),
    });
    match library {
        Some(library) => boot_text(library, "", &names),
        None => {
            let number = ZYGOTE_LIBRARY_FD;
            // Loaded, it stays mapped without its descriptor.
            let close = format!("__import__('os').close({number})\n");
            boot_text(format!("/proc/self/fd/{number}").as_ref(), &close, &names)
        }
    }
}

/// Loads the library, does what comes next and runs its Python half, which sees `names`: strings, lists
/// and objects of them, which Python reads as JSON writes them.
fn boot_text(library: &Path, next: &str, names: &serde_json::Value) -> String {
    format!(
        "import ctypes\n\
         lib = ctypes.PyDLL({})\n\
         {next}\
         lib.carboy_python_half.restype = ctypes.c_char_p\n\
         exec(compile(lib.carboy_python_half().decode(), '<carboy>', 'exec'), \
         {{'lib': lib, **{names}}})\n",
        serde_json::Value::from(library.to_string_lossy()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_name_cannot_leave_its_quotes() {
        let names = serde_json::json!({ "preload": ["a'); import os; ('\""] });
        let text = boot_text(Path::new("/x\"y"), "", &names);
        assert!(text.contains(r#""/x\"y""#) && text.contains(r#"["a'); import os; ('\""]"#));
    }
}
