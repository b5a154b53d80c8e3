//! `carboy fleet`: lays out a fleet, and shows one.

pub mod arguments;
pub mod brokers;
pub mod durable;
mod init;
pub mod leases;
pub mod listen;
pub mod quotas;
mod status;
mod top;

use std::process::ExitCode;

use arguments::{Fleet, FleetCommand};
pub use top::top;

use crate::failure::Failure;

/// Does what was asked of the fleet.
pub async fn fleet(arguments: Fleet) -> Result<ExitCode, Failure> {
    match arguments.command {
        FleetCommand::Init(wanted) => init::init(wanted),
        FleetCommand::Status(wanted) => status::status(wanted).await,
    }
}
