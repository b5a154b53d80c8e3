//! Builds the library that an interpreter loads to become a zygote, so that the program can carry it.
//!
//! Cargo has no stable way to say that a program contains a library of another crate, so this asks
//! cargo once more, with the profile, the target and the flags of the program's own build. The result
//! lies in a target directory of its own: the other one is locked while this runs.
//!
//! The source lies beside this one: in the repository, or in the folder where cargo unpacks packages. There it
//! is copied first, because nothing may be changed in it, and what it shares with the program is taken from beside it.

use std::env;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() -> Result<(), Error> {
    let own = PathBuf::from(variable("CARGO_MANIFEST_DIR")?);
    let version = variable("CARGO_PKG_VERSION")?;
    let target = variable("TARGET")?;
    // In the folder of the profile, so that builds with other features find what they share.
    let out = PathBuf::from(variable("OUT_DIR")?);
    let builds = out.ancestors().nth(3).unwrap_or(&out).join("zygote");
    // Every profile is derived from one of these two, and only the name of that one is known here.
    let (profile, folder) = match variable("PROFILE")?.as_str() {
        "release" => ("release", "release"),
        _ => ("dev", "debug"),
    };
    let mut source = own.join("../carboy-zygote");
    let mut cargo = Command::new(variable("CARGO")?);
    cargo.args(["rustc", "--lib", "--crate-type", "cdylib", "--profile", profile]);
    if !source.exists() {
        let beside = |name: &str| own.join(format!("../{name}-{version}"));
        source = out.join("carboy-zygote");
        if source.exists() {
            std::fs::remove_dir_all(&source)?;
        }
        copy(&beside("carboy-zygote"), &source)?;
        // Where it lies now may be below somebody's workspace, to which it does not belong.
        let manifest = source.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest)?;
        std::fs::write(&manifest, text + "\n[workspace]\n")?;
        for shared in ["carboy-jail", "carboy-protocol", "carboy-sys"] {
            let path = beside(shared);
            cargo.arg("--config").arg(format!("patch.crates-io.{shared}.path={path:?}"));
        }
    }
    cargo
        .args(["--target", &target, "--target-dir"])
        .arg(&builds)
        .arg("--manifest-path")
        .arg(source.join("Cargo.toml"))
        // Every zygote holds it in memory, and nobody debugs it there.
        .env(format!("CARGO_PROFILE_{}_STRIP", profile.to_uppercase()), "symbols")
        // Lints are for the workspace's own build.
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    if env::var_os("CARGO_FEATURE_ABLATION").is_some() {
        cargo.args(["--features", "ablation"]);
    }
    let output = cargo.output()?;
    if !output.status.success() {
        return Err(Error::other(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    let library = builds.join(&target).join(folder).join("libcarboy_zygote.so");
    // A copy: a build with other features replaces the original.
    let kept = out.join("libcarboy_zygote.so");
    std::fs::copy(&library, &kept)?;
    println!("cargo::rustc-env=CARBOY_ZYGOTE_LIBRARY={}", kept.display());
    for source in sources(&library)? {
        println!("cargo::rerun-if-changed={source}");
    }
    for manifest in ["Cargo.toml", "Cargo.lock"] {
        let path = own.join("../..").join(manifest);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    Ok(())
}

/// Copies a folder and what is in it, but for who may do what with it: packages may be unpacked read-only.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::write(&to, std::fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

fn variable(name: &str) -> Result<String, Error> {
    env::var(name).map_err(|error| Error::other(format!("{name}: {error}")))
}

/// What the library was made of: cargo lists it beside the library, as make would want it.
fn sources(library: &Path) -> Result<Vec<String>, Error> {
    let list = std::fs::read_to_string(library.with_extension("d"))?;
    let (_, list) = list.trim_end().split_once(": ").unwrap_or_default();
    let list = list.replace("\\ ", "\0");
    Ok(list.split(' ').map(|source| source.replace('\0', " ")).collect())
}
