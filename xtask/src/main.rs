//! The checks and generators of this workspace: `cargo xtask tidy`, `cargo xtask deny`, `cargo
//! xtask generate`, `cargo xtask hosts`, and `xtask without`, with which tests take a system call away.
//!
//! `tidy` holds what neither the compiler nor clippy can: which crate and which room may use which,
//! what a file opens with, how long it is, the form of the changelog, and that generated files and links are
//! true. It reports every fault at once, each with what to do.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command for people")]

mod api_page;
mod arrows;
mod changelog;
mod circles;
mod claims;
mod deny;
mod drill;
mod fault;
mod generated;
mod guard_rules;
mod hosts;
mod limits;
mod links;
mod name;
mod openapi;
mod openapi_files;
mod openapi_jobs;
mod openapi_parts;
mod openapi_sessions;
mod python_imports;
mod pythons;
mod rooms;
mod rust_imports;
mod rust_tokens;
mod sources;
mod tree;
mod without;
mod workspace;

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::fault::Fault;
use crate::tree::Tree;
use crate::workspace::Workspace;

const USAGE: &str = "usage: cargo xtask tidy | deny | generate | hosts | without CALL[:ARG=VALUE] ERRNO -- PROGRAM...";

/// Faults in the tree.
const FAULTY: u8 = 1;
/// The command itself could not be carried out.
const BROKEN: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["tidy"] => root().and_then(|root| tidy(&root)),
        ["deny"] => root().and_then(|root| deny(&root)),
        ["generate"] => root().and_then(|root| generate(&root)),
        ["hosts"] => root().and_then(|root| hosts(&root)),
        ["without", what, errno, "--", program @ ..] => without::run(what, errno, program),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(BROKEN);
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(BROKEN)
    })
}

/// The workspace root, which is where this crate's folder stands.
fn root() -> io::Result<PathBuf> {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .and_then(|dir| Path::new(&dir).parent().map(Path::to_path_buf))
        .ok_or_else(|| io::Error::other("CARGO_MANIFEST_DIR is not set; run this as `cargo xtask`"))
}

fn tidy(root: &Path) -> io::Result<ExitCode> {
    let tree = Tree::read(root)?;
    let workspace = Workspace::read(root)?;
    let faults: Vec<Fault> = [
        arrows::check(&workspace),
        rooms::check(&tree)?,
        name::check(&tree, &workspace)?,
        pythons::check(&tree)?,
        sources::check_files(&tree)?,
        sources::check_unsafe(&tree, &workspace)?,
        changelog::check_file(&tree)?,
        claims::check(&tree)?,
        drill::check(&tree)?,
        generated::check(&tree)?,
        hosts::check(&tree)?,
        limits::check(&tree)?,
        links::check(&tree)?,
    ]
    .into_iter()
    .flatten()
    .collect();

    Ok(told("tidy", &faults, tree.files().len(), "files"))
}

/// Prints the faults that a check found in so many things.
fn told(check: &str, faults: &[Fault], count: usize, things: &str) -> ExitCode {
    for fault in faults {
        eprintln!("{fault}");
    }
    match faults.len() {
        0 => {
            println!("{check}: {count} {things}, no faults");
            ExitCode::SUCCESS
        }
        faults => {
            eprintln!("{check}: {faults} fault{}", if faults == 1 { "" } else { "s" });
            ExitCode::from(FAULTY)
        }
    }
}

fn deny(root: &Path) -> io::Result<ExitCode> {
    let found = deny::check(root)?;
    for warning in &found.warnings {
        println!("note: {warning}");
    }
    Ok(told("deny", &found.faults, found.crates, "crates"))
}

fn generate(root: &Path) -> io::Result<ExitCode> {
    for path in generated::write(root)? {
        println!("wrote {path}");
    }
    Ok(ExitCode::SUCCESS)
}

fn hosts(root: &Path) -> io::Result<ExitCode> {
    std::fs::write(root.join(hosts::PAGE), hosts::page(&Tree::read(root)?)?)?;
    println!("wrote {}", hosts::PAGE);
    Ok(ExitCode::SUCCESS)
}
