//! `carboy completions` and `carboy man`: what a shell and the manual know of the command. Both are made
//! from the arguments themselves, so they cannot be out of date.

use std::process::ExitCode;

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions, Man};
use crate::failure::{Failure, print};

/// Prints the completions for a shell.
pub fn completions(arguments: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "carboy", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes one page for the program and one for each command, to a folder that is made if it is not there.
pub fn man(arguments: &Man) -> Result<ExitCode, Failure> {
    std::fs::create_dir_all(&arguments.folder)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), &arguments.folder))
        .map_err(Failure::os("write the manual"))?;
    Ok(ExitCode::SUCCESS)
}
