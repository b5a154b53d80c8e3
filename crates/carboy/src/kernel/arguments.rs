//! What can be typed after `carboy kernel`.

use std::path::PathBuf;

use carboy_protocol::{LimitName, Policy};
use clap::{Args, Subcommand};

use crate::choice::Choice;
use crate::failure::Failure;

#[derive(Args)]
pub struct Kernel {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Subcommand)]
pub enum What {
    /// Let Jupyter find this program, and run the cells of notebooks in a session
    Install(Install),
    /// Be the kernel of a notebook: Jupyter starts this
    #[command(hide = true)]
    Run(Box<RunKernel>),
}

#[derive(Args)]
pub struct Install {
    /// How Jupyter knows it: letters, digits, dots, hyphens and underscores
    #[arg(long, default_value = "carboy")]
    pub name: String,
    /// What people choose from
    #[arg(long, value_name = "NAME", default_value = "Python in carboy")]
    pub display_name: String,
    /// A prefix or venv of Jupyter's, if not for you alone
    #[arg(long, value_name = "DIR")]
    pub prefix: Option<PathBuf>,
    #[command(flatten)]
    pub choice: Choice,
}

#[derive(Args)]
pub struct RunKernel {
    /// Where Jupyter says how it is to be reached
    #[arg(long, value_name = "FILE")]
    pub connection_file: PathBuf,
    #[command(flatten)]
    pub choice: Choice,
}

/// The policy that cells run under. Whoever names none has a notebook that does not end while its reader thinks.
pub fn policy(choice: &Choice) -> Result<Policy, Failure> {
    let mut policy = choice.policy()?;
    if choice.policy.is_none() {
        for name in [LimitName::IdleMs, LimitName::LifetimeMs] {
            policy.limits.set(name, name.row().most);
        }
    }
    Ok(policy)
}
