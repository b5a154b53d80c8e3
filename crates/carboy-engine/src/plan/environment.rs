//! The environment of a zygote, and where that of a jar differs from it.

use std::collections::BTreeMap;
use std::path::Path;

use carboy_protocol::Limits;

use crate::host::Host;
use crate::plan::base::Base;
use crate::plan::computer::{USER, processors};

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

/// What the allocators of Arrow and Polars ask whether they may start a thread that cleans up.
const ALLOCATORS: [&str; 2] = ["JE_ARROW_MALLOC_CONF", "_RJEM_MALLOC_CONF"];

/// The whole environment of a zygote. Guest code sees these, but for the loader's, and nothing
/// else.
pub(super) fn environment(home: &Path) -> Vec<(String, String)> {
    let home = home.to_string_lossy().into_owned();
    let mut all = vec![
        ("HOME".to_owned(), home.clone()),
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("LOGNAME".to_owned(), USER.to_owned()),
        ("TMPDIR".to_owned(), home),
        // Where the host is is not told.
        ("TZ".to_owned(), "UTC".to_owned()),
        ("USER".to_owned(), USER.to_owned()),
    ];
    // Symbols are looked up once, before the first fork, and not again in each.
    all.push(("LD_BIND_NOW".to_owned(), "1".to_owned()));
    // A zygote has one thread: whoever forks must.
    all.extend(thread_variables(1));
    all.extend(ALLOCATORS.map(|name| (name.to_owned(), "background_thread:false".to_owned())));
    all
}

/// What a zygote tells its jars about threads, under the limits that most jobs have.
pub(super) fn usual_threads(host: &Host) -> BTreeMap<String, String> {
    thread_variables(processors(host, &Limits::default()))
}

/// Where the environment of a jar differs from what jars of its zygote have anyway. `temporary` is
/// its temporary directory, if that has a name of its own.
pub(crate) fn own_environment(
    base: &Base,
    limits: &Limits,
    temporary: Option<&Path>,
) -> BTreeMap<String, String> {
    let mut own = BTreeMap::new();
    let threads = processors(&base.host, limits);
    if threads != processors(&base.host, &Limits::default()) {
        own = thread_variables(threads);
    }
    if let Some(temporary) = temporary {
        let temporary = temporary.to_string_lossy();
        own.extend(["HOME", "TMPDIR"].map(|name| (name.to_owned(), temporary.to_string())));
    }
    own
}

/// What tells numerical libraries how many threads they may start.
fn thread_variables(threads: u64) -> BTreeMap<String, String> {
    THREADS.iter().map(|name| ((*name).to_owned(), threads.to_string())).collect()
}
