//! The environment of a zygote, and where that of a jar differs from it.

use std::collections::BTreeMap;
use std::path::Path;

use carboy_protocol::Limits;

use crate::host::Host;
use crate::plan::base::Base;

/// What libraries ask how many threads they may start. Some count processors by themselves unless
/// they find their own variable.
const THREADS: [&str; 9] = [
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "RAYON_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
];
/// A program uses several such libraries, and each starts as many threads as it is told.
const LIBRARIES: u64 = 4;

/// The whole environment of a zygote. Guest code sees these, but for the loader's, and nothing
/// else.
pub(super) fn environment(base: &Base, home: &Path) -> Vec<(String, String)> {
    let home = home.to_string_lossy().into_owned();
    let mut all = vec![
        ("HOME".to_owned(), home.clone()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("TMPDIR".to_owned(), home),
    ];
    // Without /proc the loader cannot find out where a program lies, and interpreters that look
    // for their library relative to themselves depend on it.
    if let Some(folder) = &base.origin {
        all.push(("LD_ORIGIN_PATH".to_owned(), folder.to_string_lossy().into_owned()));
    }
    // Symbols are looked up once, before the first fork, and not again in each.
    all.push(("LD_BIND_NOW".to_owned(), "1".to_owned()));
    // A zygote has one thread: whoever forks must.
    all.extend(thread_variables(1));
    all
}

/// What a zygote tells its jars about threads, under the limits that most jobs have.
pub(super) fn usual_threads(host: &Host) -> BTreeMap<String, String> {
    thread_variables(library_threads(host, &Limits::default()))
}

/// Where the environment of a jar differs from what jars of its zygote have anyway. `temporary` is
/// its temporary directory, if that has a name of its own.
pub(crate) fn own_environment(
    base: &Base,
    limits: &Limits,
    temporary: Option<&Path>,
) -> BTreeMap<String, String> {
    let mut own = BTreeMap::new();
    let threads = library_threads(&base.host, limits);
    if threads != library_threads(&base.host, &Limits::default()) {
        own = thread_variables(threads);
    }
    if let Some(temporary) = temporary {
        let temporary = temporary.to_string_lossy();
        own.extend(["HOME", "TMPDIR"].map(|name| (name.to_owned(), temporary.to_string())));
    }
    own
}

/// How many threads numerical libraries may start for themselves under these limits.
fn library_threads(host: &Host, limits: &Limits) -> u64 {
    (limits.threads / LIBRARIES).clamp(1, host.processors.max(1))
}

/// What tells numerical libraries how many threads they may start.
fn thread_variables(threads: u64) -> BTreeMap<String, String> {
    THREADS.iter().map(|name| ((*name).to_owned(), threads.to_string())).collect()
}
