//! The warm CPython that is forked into jars: its Rust half.
//!
//! Any stock CPython loads this library with `ctypes.PyDLL`; it is not linked to libpython. The
//! interpreter asks for the Python half (the package in `python/carboy_jar`, embedded as it is),
//! which imports what it was told to and then calls [`carboy_serve`]. That function never returns in the zygote: it forks jars on
//! request until the engine is gone. In each fork it returns once, after the process was sealed,
//! and the Python half goes on to run the one job of that jar.
//!
//! A zygote runs no guest code, holds no secret and knows nothing of the engine but its socket.
#![deny(unsafe_code)]

mod serve;

use std::ffi::{c_char, c_int};
use std::ptr::null;

/// A module of the Python half: its name and its source, with the zero bytes C wants.
macro_rules! module {
    ($name:literal) => {
        (
            concat!($name, "\0"),
            concat!(include_str!(concat!("../python/carboy_jar/", $name, ".py")), "\0"),
        )
    };
}

/// What makes modules of the others.
const BOOT: (&str, &str) = module!("boot");

/// The modules of the Python half. Each imports only those before it, and the last one is started.
const MODULES: [(&str, &str); 26] = [
    module!("language"),
    module!("values"),
    module!("frames"),
    module!("forms"),
    module!("tables"),
    module!("convert"),
    module!("displays"),
    module!("showing"),
    module!("refusal"),
    module!("grants"),
    module!("texts"),
    module!("sentries"),
    module!("patches"),
    module!("faces"),
    module!("guard"),
    module!("tools"),
    module!("callee"),
    module!("answers"),
    module!("execute"),
    module!("data_frames"),
    module!("job"),
    module!("computer"),
    module!("children"),
    module!("keeping"),
    module!("heads"),
    module!("zygote"),
];

fn module(index: c_int) -> Option<&'static (&'static str, &'static str)> {
    MODULES.get(usize::try_from(index).ok()?)
}

/// The source that an interpreter executes to become a zygote.
#[allow(unsafe_code, reason = "an exported C symbol; the name is ours alone")]
#[unsafe(no_mangle)]
pub extern "C" fn carboy_python_half() -> *const c_char {
    BOOT.1.as_ptr().cast()
}

/// The name of a module of the Python half; null behind the last one.
#[allow(unsafe_code, reason = "an exported C symbol; the name is ours alone")]
#[unsafe(no_mangle)]
pub extern "C" fn carboy_module_name(index: c_int) -> *const c_char {
    module(index).map_or(null(), |(name, _)| name.as_ptr().cast())
}

/// The source of a module of the Python half; null behind the last one.
#[allow(unsafe_code, reason = "an exported C symbol; the name is ours alone")]
#[unsafe(no_mangle)]
pub extern "C" fn carboy_module_source(index: c_int) -> *const c_char {
    module(index).map_or(null(), |(_, source)| source.as_ptr().cast())
}

/// Whether this process holds memory that its forks would share, as far as it can see. In full walls
/// it cannot, and the engine looks from outside.
#[allow(unsafe_code, reason = "an exported C symbol; the name is ours alone")]
#[unsafe(no_mangle)]
pub extern "C" fn carboy_shares() -> c_int {
    c_int::from(serve::shared_memory().is_ok_and(|mapping| mapping.is_some()))
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
