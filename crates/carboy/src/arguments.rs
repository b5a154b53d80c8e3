//! What can be typed.

use std::path::PathBuf;

use carboy_engine::{Config, Engine, Installation, PoolConfig, Python, Versions};
use carboy_protocol::{
    ExitCode, LanguageProfile, Policy, Preset, PythonVersion, Walls, supported_pythons,
};
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::{Failure, Reader};
use crate::memory_budget::MemoryBudget;
use crate::policy_file;
use crate::recording::{Recording, Records};
use crate::runs::arguments::Runs;

/// Runs Python that nobody has reviewed, sealed by the kernel.
#[derive(Parser)]
#[command(name = "carboy", version, after_help = exit_codes())]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Run a script in a jar of its own and say what came of it
    Run(Run),
    /// List, show, replay, export and verify what is recorded of runs
    Runs(Runs),
    /// Say what a language profile does not grant in a script, without running it
    Check(Check),
    /// Show what this host offers, layer by layer, and what is missing
    Doctor(Doctor),
    /// Print the plan: everything a run would be sealed to, before anything runs
    Explain(Explain),
    /// Time runs on this machine: bare, sealed, cold, with packages, and beside others
    Bench(Bench),
    /// Run jobs for a program: requests as JSON lines on standard input, answers on standard output
    Pipe(Pipe),
    /// Attack this carboy on this machine, and say of each attack what held
    Drill(Drill),
    /// Print what a shell needs to complete this command and its options
    Completions(Completions),
    /// Write the manual, a page for each command, into a folder
    #[command(hide = true)]
    Man(Man),
}

impl Command {
    /// Who is told if it fails.
    pub fn reader(&self) -> Reader {
        let json = match self {
            Command::Run(run) => run.json,
            Command::Runs(runs) => runs.json(),
            Command::Check(check) => check.json,
            Command::Doctor(doctor) => doctor.json,
            Command::Explain(explain) => explain.json,
            Command::Bench(bench) => bench.json,
            Command::Drill(drill) => drill.json,
            Command::Completions(_) | Command::Man(_) => false,
            Command::Pipe(_) => return Reader::Lines(None),
        };
        if json { Reader::Program } else { Reader::Person }
    }
}

#[derive(Args)]
pub struct Completions {
    /// For this shell
    pub shell: clap_complete::Shell,
}

#[derive(Args)]
pub struct Man {
    /// An existing folder
    pub folder: PathBuf,
}

#[derive(Args)]
pub struct Pipe {
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Modules to import before jobs come, once for all
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    pub preload: Vec<String>,
    /// Speak over this inherited socket instead of standard input and output
    #[arg(long, value_name = "NUMBER")]
    pub descriptor: Option<i32>,
    /// Keep artifacts for runs that want it in this folder, which is made, and removed at the end
    #[arg(long, value_name = "DIR")]
    pub artifacts: Option<PathBuf>,
    #[command(flatten)]
    pub records: Records,
    #[command(flatten)]
    pub budget: MemoryBudget,
}

#[derive(Args)]
pub struct Drill {
    /// Only this row, or all variants of one; may be given more than once
    #[arg(long, value_name = "ID")]
    pub row: Vec<String>,
    /// Only this class: confidentiality, integrity, availability, cross-run, protocol, neighbours
    #[arg(long)]
    pub class: Vec<String>,
    /// The walls to attack
    #[arg(long, value_name = "WALLS", default_value = "full")]
    pub walls: WallsName,
    /// Some rows of each class, without controls: a few seconds, for the start of a service
    #[arg(long)]
    pub quick: bool,
    /// Also run the programs on this machine WITHOUT WALLS, as you, to show that they succeed there
    #[arg(long, conflicts_with = "quick")]
    pub controls: bool,
    /// Rows to attack at once, each in a process of its own [default: one for each processor]
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub jobs: Option<u16>,
    /// Run racing rows at most so often
    #[arg(long, value_name = "TIMES")]
    pub repeats: Option<usize>,
    /// Print the rows and attack nothing
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Rows from this folder instead of those that the program carries
    #[arg(long, value_name = "FOLDER")]
    pub corpus: Option<PathBuf>,
    /// Print what came of it as JSON
    #[arg(long)]
    pub json: bool,
    /// Write a report as one HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Attack the rows that standard input names, for another process
    #[arg(long, hide = true)]
    pub worker: bool,
}

#[derive(Args)]
pub struct Bench {
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Also time other sandboxes, where they are installed
    #[arg(long)]
    pub peers: bool,
    /// A fifth of the runs
    #[arg(long)]
    pub quick: bool,
    /// Measure only these parts
    #[arg(long, value_name = "PART", value_delimiter = ',')]
    pub only: Vec<BenchPart>,
    /// Write every sample to a file
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,
    /// Print the numbers as JSON
    #[arg(long)]
    pub json: bool,
}

/// A part of a bench.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchPart {
    Bare,
    C1,
    C4,
    C16,
    Cold,
    Guard,
    Jar,
    Numpy,
    Pandas,
    Peers,
}

#[derive(Args)]
pub struct Run {
    /// The script, or - for standard input
    #[arg(required_unless_present = "code", conflicts_with = "code")]
    pub file: Option<PathBuf>,
    /// The script itself
    #[arg(short, long)]
    pub code: Option<String>,
    /// What the script sees as `context`: JSON, or @FILE to read it from a file
    #[arg(long, value_name = "JSON")]
    pub input: Option<String>,
    /// Write the files that the script leaves into this folder, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files that are in that folder already
    #[arg(long, requires = "out")]
    pub force: bool,
    #[command(flatten)]
    pub given: Given,
    #[command(flatten)]
    pub choice: Choice,
    #[command(flatten)]
    pub recording: Recording,
    /// Write one page with the code, its output and what it showed, and open it in a browser
    #[arg(long)]
    pub open: bool,
    /// Print the outcome as JSON and nothing else
    #[arg(long, conflicts_with = "open")]
    pub json: bool,
}

#[derive(Args)]
pub struct Check {
    /// The script, or - for standard input
    pub file: PathBuf,
    /// What is granted, if not what the policy says: agent for data work, hook to compute only
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileName>,
    /// A policy file, for the modules that it grants beyond the profile
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// The version of Python that the script is to run on
    #[arg(long, value_name = "VERSION", default_value_t = PythonVersion::NEWEST)]
    pub python_version: PythonVersion,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Doctor {
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Import and preload each installed package behind the walls, and say what failed
    #[arg(long)]
    pub packages: bool,
    /// Modules to preload, to see where each is imported
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    pub preload: Vec<String>,
    #[command(flatten)]
    pub budget: MemoryBudget,
    /// Print the report as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct Explain {
    #[command(flatten)]
    pub given: Given,
    #[command(flatten)]
    pub choice: Choice,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// The interpreter, which most commands need.
#[derive(Args)]
pub struct Interpreter {
    #[arg(long, value_name = "PATH", default_value = "python3", help = concat!(
        "The interpreter: a CPython from ", supported_pythons!(), ", or the python of a venv"
    ))]
    pub python: PathBuf,
    /// Take a CPython that is newer than those carboy is tested with
    #[arg(long)]
    pub untested_python: bool,
}

impl Interpreter {
    /// Which versions are taken.
    pub fn versions(&self) -> Versions {
        if self.untested_python { Versions::Newer } else { Versions::Tested }
    }

    /// Looks for it, and asks it what it is.
    pub fn find(&self) -> Result<Python, Failure> {
        Ok(Python::find(&self.python, self.versions())?)
    }
}

/// Files of this machine that a script may read.
#[derive(Args)]
pub struct Given {
    /// A file that the script can read, as NAME and as /inputs/NAME; NAME is the file's own if it is left
    /// out. May be given more than once
    #[arg(long = "file", value_name = "[NAME=]PATH")]
    pub files: Vec<String>,
    /// A directory, or a file, that the script can read at PLACE, such as /data. May be given more than once
    #[arg(long = "mount", value_name = "PLACE=PATH")]
    pub mounts: Vec<String>,
}

/// What `run` and `explain` have in common: the policy and the interpreter.
#[derive(Args)]
pub struct Choice {
    /// A policy file: .toml, .yaml or .json
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    pub policy: Option<PathBuf>,
    /// A named policy
    #[arg(long, value_name = "PRESET")]
    pub preset: Option<PresetName>,
    /// What surrounds the jar, if not what the policy says
    #[arg(long, value_name = "WALLS")]
    pub walls: Option<WallsName>,
    /// Which Python the script may be written in, if not what the policy says
    #[arg(long, value_name = "PROFILE")]
    pub profile: Option<ProfileName>,
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Modules to import before the run starts, outside its limits
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    pub preload: Vec<String>,
    #[command(flatten)]
    pub budget: MemoryBudget,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum PresetName {
    Low,
    Medium,
    High,
    Max,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum ProfileName {
    Open,
    Agent,
    Hook,
}

impl From<ProfileName> for LanguageProfile {
    fn from(name: ProfileName) -> LanguageProfile {
        match name {
            ProfileName::Open => LanguageProfile::Open,
            ProfileName::Agent => LanguageProfile::Agent,
            ProfileName::Hook => LanguageProfile::Hook,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum WallsName {
    Full,
    Nested,
}

impl From<WallsName> for Walls {
    fn from(name: WallsName) -> Walls {
        match name {
            WallsName::Full => Walls::Full,
            WallsName::Nested => Walls::Nested,
        }
    }
}

impl Choice {
    /// The policy chosen.
    pub fn policy(&self) -> Result<Policy, Failure> {
        let mut policy = match (&self.policy, self.preset) {
            (Some(file), _) => policy_file::read(file)?,
            (None, Some(PresetName::Low)) => Policy::preset(Preset::Low),
            (None, Some(PresetName::Medium)) => Policy::preset(Preset::Medium),
            (None, Some(PresetName::High)) => Policy::preset(Preset::High),
            (None, Some(PresetName::Max)) => Policy::preset(Preset::Max),
            (None, None) => Policy::default(),
        };
        if let Some(walls) = self.walls {
            policy.walls = walls.into();
        }
        if let Some(profile) = self.profile {
            policy.language.profile = profile.into();
        }
        Ok(policy)
    }

    /// An engine for the interpreter chosen.
    pub fn engine(&self) -> Result<Engine, Failure> {
        engine(&self.interpreter, self.preload.clone(), &self.budget)
    }
}

/// An engine whose helper is this program.
pub fn engine(
    interpreter: &Interpreter,
    preload: Vec<String>,
    budget: &MemoryBudget,
) -> Result<Engine, Failure> {
    Ok(Engine::new(Config {
        preload,
        gate: budget.gate(),
        versions: interpreter.versions(),
        // One run needs one jar.
        pool: PoolConfig { ceiling: 0, ..PoolConfig::default() },
        ..Config::new(Installation::own(), &interpreter.python)
    })?)
}

fn exit_codes() -> String {
    let rows =
        ExitCode::TABLE.iter().map(|(code, words)| format!("  {:>2}  {words}\n", *code as u8));
    format!("Exit codes of `carboy run`:\n{}", rows.collect::<String>())
}
