//! What can be typed after `carboy fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args)]
pub struct Fleet {
    #[command(subcommand)]
    pub command: FleetCommand,
}

#[derive(Subcommand)]
pub enum FleetCommand {
    /// Make keys, certificates and settings for brokers, gateways and workers, or add nodes to those that are there
    Init(Init),
    /// Show nodes and gateways, how full each is, and who refuses; listens for a second
    Status(Status),
}

impl Fleet {
    /// Whether a program reads what is printed.
    pub fn json(&self) -> bool {
        matches!(&self.command, FleetCommand::Status(status) if status.json)
    }
}

#[derive(Args)]
pub struct Init {
    /// The folder for all of it, which is made if it is not there
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Where the brokers will be, HOST or HOST:PORT with commas between, or how many on this machine [default: 1]
    #[arg(long, value_name = "PLACES")]
    pub brokers: Option<String>,
    /// Names of nodes, eight letters of a-z and 2-7 each, with commas between, or how many to name
    #[arg(long, value_name = "NAMES")]
    pub nodes: Option<String>,
}

/// How the brokers are reached.
#[derive(Args)]
pub struct Brokers {
    /// The brokers' addresses, with commas between them
    #[arg(long, value_name = "URL", default_value = "nats://127.0.0.1:4222")]
    pub nats: String,
    /// A folder with credentials, as `carboy fleet init` makes one for each role
    #[arg(long, value_name = "DIR")]
    pub credentials: Option<PathBuf>,
}

#[derive(Args)]
pub struct Status {
    #[command(flatten)]
    pub brokers: Brokers,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Top {
    #[command(flatten)]
    pub brokers: Brokers,
}
