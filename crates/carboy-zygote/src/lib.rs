//! The warm CPython that is forked into jars: its Rust half.
//!
//! Any stock CPython loads this library with `ctypes.PyDLL`; it is not linked to libpython. The
//! interpreter asks for the Python half (`jar.py`), which imports what it was told to
//! and then calls [`carboy_serve`]. That function never returns in the zygote: it forks jars on
//! request until the engine is gone. In each fork it returns once, after the process was sealed,
//! and the Python half goes on to run the one job of that jar.
//!
//! A zygote runs no guest code, holds no secret and knows nothing of the engine but its socket.
#![deny(unsafe_code)]

mod serve;

use std::ffi::{c_char, c_int};

/// The Python half, with the zero byte C wants: what the guard grants, its runtime half, the
/// caller's tools, and what a jar does.
const PYTHON_HALF: &str = concat!(
    "import json\nTABLES = json.loads(r'''",
    include_str!("language.json"),
    "''')\n",
    include_str!("guard.py"),
    include_str!("tools.py"),
    include_str!("jar.py"),
    "\0"
);

/// The source of the Python half.
#[allow(unsafe_code, reason = "an exported C symbol; the name is ours alone")]
#[unsafe(no_mangle)]
pub extern "C" fn carboy_python_half() -> *const c_char {
    PYTHON_HALF.as_ptr().cast()
}

/// Serves the engine. Returns 0 in a jar, and in the zygote never.
#[allow(unsafe_code, reason = "an exported C symbol; the name is ours alone")]
#[unsafe(no_mangle)]
pub extern "C" fn carboy_serve(major: c_int, minor: c_int, micro: c_int) -> c_int {
    match serve::serve(format!("{major}.{minor}.{micro}")) {
        serve::End::Jar => 0,
        serve::End::EngineGone => carboy_sys::exit_now(0),
        serve::End::Failed => carboy_sys::exit_now(1),
    }
}
