//! Interpreters that do not lie as a distribution lays them.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use carboy_engine::{Config, Engine, Installation, PoolConfig};
use carboy_protocol::{Job, Policy, Walls};

use crate::support::*;

/// An interpreter of the test scripts' that brings its own loader and libraries, as its prefix.
fn with_own_loader() -> Option<PathBuf> {
    let found = crate::pythons::interpreters().into_iter().find_map(|python| {
        let prefix = python.parent()?.parent()?.to_path_buf();
        prefix.join("lib/ld-linux-x86-64.so.2").exists().then_some(prefix)
    });
    if found.is_none() {
        skip("no interpreter in CARBOY_TEST_PYTHONS has a loader of its own");
    }
    found
}

/// Lays an interpreter into `prefix` with its loader and libraries in `libraries`, and its standard library
/// behind a link. Returns the program.
fn lay(from: &Path, prefix: &Path, libraries: &Path) -> PathBuf {
    fs::create_dir_all(prefix.join("bin")).unwrap();
    fs::create_dir_all(prefix.join("lib")).unwrap();
    fs::create_dir_all(libraries).unwrap();
    for entry in fs::read_dir(from.join("lib")).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            symlink(entry.path(), prefix.join("lib").join(entry.file_name())).unwrap();
        } else {
            fs::copy(entry.path(), libraries.join(entry.file_name())).unwrap();
        }
    }
    let program = prefix.join("bin/python3");
    fs::copy(from.join("bin/python3").canonicalize().unwrap(), &program).unwrap();
    let loader = libraries.join("ld-linux-x86-64.so.2");
    for change in [
        vec!["--force-rpath", "--set-rpath", libraries.to_str().unwrap()],
        vec!["--set-interpreter", loader.to_str().unwrap()],
    ] {
        let done = Command::new("patchelf").args(change).arg(&program).status().unwrap();
        assert!(done.success());
    }
    program
}

async fn runs(python: &Path, policy: Policy) {
    let engine = Engine::new(Config {
        pool: PoolConfig { ceiling: 0, ..PoolConfig::default() },
        ..Config::new(Installation::at(program()).unwrap(), python)
    });
    let engine = engine.unwrap();
    let code = "import ctypes, lzma, sqlite3, ssl, zlib\nresult = 6 * 7";
    let outcome = engine.run(Job::new(code).with_policy(policy)).await.unwrap();
    assert_eq!(result(&outcome), "42", "{:?}", outcome.error);
    engine.shutdown().await;
}

#[tokio::test]
async fn a_loader_and_libraries_that_lie_elsewhere_are_found() {
    let Some(from) = with_own_loader() else { return };
    let folder = Folder::new();
    let python = lay(&from, &folder.0.join("store/python"), &folder.0.join("store/glibc/lib"));
    runs(&python, policy(|_| {})).await;
}

#[tokio::test]
async fn a_root_engine_runs_an_interpreter_below_a_closed_home() {
    if !rustix::process::geteuid().is_root() || walls() != Walls::Full {
        return skip("only root reaches another user's home, and only in full walls");
    }
    let Some(from) = with_own_loader() else { return };
    let folder = Folder::new();
    let home = folder.0.join("home");
    let python = lay(&from, &home.join("python"), &home.join("python/own/lib"));
    std::os::unix::fs::chown(&home, Some(1000), Some(1000)).unwrap();
    fs::set_permissions(&home, PermissionsExt::from_mode(0o700)).unwrap();
    runs(&python, policy(|_| {})).await;
    // Nested walls share the host's tree: the one thing left is to say which directory is in the way.
    let doctor =
        Command::new(program()).args(["doctor", "--python"]).arg(&python).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    let wanted = format!("cannot enter {}, so nested walls cannot start it", home.display());
    assert!(said.contains(&wanted), "{said}");
}
