//! Programs as the guard reads them: judged or refused, never a panic, with places inside the text
//! and edits that keep every line; and what CPython takes, the guard sees as CPython does.
#![no_main]

#[path = "../../crates/carboy-guard/tests/cpython/mod.rs"]
mod cpython;

use std::path::Path;
use std::sync::{LazyLock, Mutex};

use carboy_guard::{check, with_plain_newlines};
use carboy_protocol::{LanguagePolicy, LanguageProfile, PythonVersion};
use cpython::Cpython;
use libfuzzer_sys::fuzz_target;

/// The interpreter to compare with.
static CPYTHON: LazyLock<Mutex<Cpython>> =
    LazyLock::new(|| Mutex::new(Cpython::start(Path::new("python3"))));

fuzz_target!(|data: &[u8]| {
    let Ok(source) = std::str::from_utf8(data) else { return };
    for profile in LanguageProfile::ALL {
        let report = check(source, &LanguagePolicy::of(profile), PythonVersion::NEWEST);
        let lines = with_plain_newlines(source).split('\n').count();
        for violation in &report.violations {
            assert!((1..=lines).contains(&(violation.line as usize)));
            assert!(violation.column >= 1 && violation.end_column > violation.column);
        }
        if let Some(edited) = &report.guarded.edited {
            assert_eq!(edited.split('\n').count(), lines);
        }
    }
    if let Err(difference) = CPYTHON.lock().expect("no panic before").compare(source) {
        panic!("{difference}");
    }
});
