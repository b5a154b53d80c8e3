//! `carboy kernel`: the cells of a Jupyter notebook, run in a session.
//!
//! A cell that dies leaves the notebook as it was before. What a cell shows goes into somebody's browser, where
//! it must be no more than a picture: see [`cell`].

pub mod arguments;
mod cell;
mod door;
mod install;
mod wire;

use std::process::ExitCode;

use arguments::{Kernel, What};

use crate::failure::Failure;

pub async fn kernel(arguments: Kernel) -> Result<ExitCode, Failure> {
    match arguments.what {
        What::Install(wanted) => install::install(&wanted).await,
        What::Run(wanted) => door::run(&wanted).await,
    }
}
