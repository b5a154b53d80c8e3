//! What can be typed after `carboy runs`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::failure::Failure;
use crate::recording;

/// How `verify` and `replay` end if they found something.
pub const DIFFERS: u8 = 1;

#[derive(Args)]
pub struct Runs {
    #[command(subcommand)]
    pub what: Option<What>,
    #[command(flatten)]
    pub list: List,
    /// The store's directory, if not CARBOY_STORE
    #[arg(long, value_name = "DIR", global = true)]
    store: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum What {
    /// List recorded runs, the newest first
    List(List),
    /// Show what is recorded of a run
    Show(Show),
    /// Run the code again under the same policy, and say what differs
    Replay(Replay),
    /// Print a run as a plain Python file that says how to run it anywhere
    Export(Export),
    /// Say whether every record is as it was written, none missing and none moved
    Verify(Verify),
    /// Print the end of the chain of records, to be noted elsewhere
    Head(Head),
    /// Remove the oldest records
    Prune(Prune),
}

impl Runs {
    /// Whether a program reads what it prints.
    pub fn json(&self) -> bool {
        match &self.what {
            None => self.list.json,
            Some(What::List(list)) => list.json,
            Some(What::Show(show)) => show.json,
            Some(What::Replay(replay)) => replay.json,
            Some(What::Export(_)) => false,
            Some(What::Verify(verify)) => verify.json,
            Some(What::Head(head)) => head.json,
            Some(What::Prune(prune)) => prune.json,
        }
    }

    /// The store that is meant.
    pub fn directory(&self) -> Result<PathBuf, Failure> {
        self.store.clone().map_or_else(recording::usual, Ok)
    }

    /// What filters a list stands before no other command: it would do nothing there.
    pub fn check(&self) -> Result<(), Failure> {
        let List { status, kind, tenant, since, until, text, most, json } = &self.list;
        let names = [tenant, since, until, text];
        let is_list = status.is_none() && kind.is_none() && names.iter().all(|name| name.is_none());
        if self.what.is_none() || (is_list && *most == MOST && !json) {
            return Ok(());
        }
        Err(Failure::usage(
            "an option of `runs` stands before another command, where only --store may",
            "write options behind the command they belong to, for example `carboy runs list --status ok`",
        ))
    }
}

/// How many runs a list has if nothing else was typed.
const MOST: u64 = 20;

#[derive(Clone, Copy, ValueEnum)]
pub enum StatusName {
    Ok,
    Error,
    Failed,
    Abandoned,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum KindName {
    Exception,
    Limit,
    Denied,
    Rejected,
    Crash,
    Cancelled,
}

#[derive(Args)]
pub struct List {
    /// Only runs that ended so: error is the code's, failed is carboy's
    #[arg(long)]
    pub status: Option<StatusName>,
    /// Only errors of this kind
    #[arg(long)]
    pub kind: Option<KindName>,
    /// Only those of this tenant
    #[arg(long)]
    pub tenant: Option<String>,
    /// Not before this: an age such as 15m, 12h or 7d, or a date or time in UTC such as 2026-11-16T03:21
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Before this
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Only those with this text in their code or outcome
    #[arg(long)]
    pub text: Option<String>,
    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = MOST)]
    pub most: u64,
    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Show {
    /// Its id, or as many of its digits as tell it apart; `last` is the newest
    pub id: String,
    /// Write one page that needs nothing else to this file, or - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
    /// Print the record as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Replay {
    /// Its id, or as many of its digits as tell it apart; `last` is the newest
    pub id: String,
    /// The interpreter, if not the one that is recorded
    #[arg(long, value_name = "PATH")]
    pub python: Option<PathBuf>,
    /// What the script sees as `context`, if its inputs are not recorded: JSON, or @FILE
    #[arg(long, value_name = "JSON")]
    pub input: Option<String>,
    /// Print what differs as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Export {
    /// Its id, or as many of its digits as tell it apart; `last` is the newest
    pub id: String,
}

#[derive(Args)]
pub struct Verify {
    /// A head that was noted elsewhere, as `carboy runs head` prints it, which the chain must contain
    #[arg(long, value_name = "NUMBER:HASH")]
    pub head: Option<String>,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Head {
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("keep").required(true).multiple(true).args(["keep_days", "keep_bytes"]))]
pub struct Prune {
    /// Remove what is older than so many days
    #[arg(long, value_name = "DAYS")]
    pub keep_days: Option<u32>,
    /// Remove what is beyond the newest so many bytes: 500MB, 2GiB
    #[arg(long, value_name = "BYTES")]
    pub keep_bytes: Option<String>,
    /// Print what was removed as JSON
    #[arg(long)]
    pub json: bool,
}
