//! What can be typed behind `carboy session`.

use std::io::IsTerminal;
use std::path::PathBuf;

use clap::Args;

use crate::choice::Choice;
use crate::given::Given;

#[derive(Args)]
pub struct Session {
    /// Write the files that runs leave into this folder, which is empty or made
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Take a folder that is not empty, and replace files in it
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Keep what is typed in this file, if not among what this user's programs keep; an empty name keeps nothing
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    #[command(flatten)]
    pub given: Given,
    #[command(flatten)]
    pub choice: Choice,
    /// Take requests as JSON lines, as always where standard input is no terminal
    #[arg(long)]
    pub json: bool,
}

impl Session {
    /// Whether somebody types.
    pub fn is_person(&self) -> bool {
        !self.json && std::io::stdin().is_terminal()
    }
}
