//! What can be typed.

use std::path::PathBuf;

use carboy_protocol::{ExitCode, PythonVersion};
use clap::{Args, Parser, Subcommand};

use crate::bench::{BenchPart, Subject};
use crate::choice::{Choice, InsideName, Interpreter, ProfileName, WallsName};
use crate::command_worker::WorkerArguments;
use crate::failure::Reader;
use crate::fleet::arguments::{Fleet, Top};
use crate::fleet::brokers::Credentials;
use crate::given::Given;
use crate::kernel::arguments::Kernel;
use crate::memory_budget::MemoryBudget;
use crate::recording::{Recording, Records};
use crate::runs::arguments::Runs;
use crate::serve_log::LogForm;
use crate::session::arguments::Session;

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
    /// Run code piece by piece and keep its state: a prompt, or JSON lines for a program
    Session(Box<Session>),
    /// Run jobs for a program: requests as JSON lines on standard input, answers on standard output
    Pipe(Pipe),
    /// Run jobs for many callers over HTTP, each with a key
    Serve(Box<Serve>),
    /// Run jobs for the gateways of a fleet: a node of it
    Worker(Box<WorkerArguments>),
    /// Lay out a fleet of many hosts, and look at one
    Fleet(Fleet),
    /// Watch a fleet in a terminal: nodes, places, rates and who refuses
    Top(Top),
    /// Run Python for an agent: an MCP server on standard input and output
    Mcp(Box<Mcp>),
    /// Run the cells of Jupyter notebooks in a session
    Kernel(Kernel),
    /// Attack this carboy on this machine, and say of each attack what held
    Drill(Drill),
    /// Print what a shell needs to complete this command and its options
    Completions(Completions),
    /// Write the manual, a page for each command, into a folder
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
            Command::Fleet(fleet) => fleet.json(),
            Command::Completions(_)
            | Command::Kernel(_)
            | Command::Man(_)
            | Command::Mcp(_)
            | Command::Serve(_)
            | Command::Top(_)
            | Command::Worker(_) => false,
            Command::Session(session) => {
                return if session.is_person() { Reader::Person } else { Reader::Lines(None) };
            }
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
pub struct Serve {
    /// The settings, in TOML; without them there is one tenant, with a key that is made and printed
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where to listen: ADDRESS:PORT or unix:PATH [default: what the settings say, or 127.0.0.1:8722]
    #[arg(long, value_name = "PLACE")]
    pub listen: Option<String>,
    /// The walls of the one tenant that there is without settings
    #[arg(long, value_name = "WALLS", conflicts_with = "config")]
    pub walls: Option<WallsName>,
    /// What to write to standard error: failures of carboy's own as text, or as JSON every request and run too
    #[arg(long, value_name = "FORM", default_value = "text")]
    pub log: LogForm,
    /// Send traces to this collector, by OTLP over HTTP, such as http://localhost:4318
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// Print a new key and what to write into the settings for it, and serve nothing
    #[arg(long)]
    pub new_key: bool,
    /// Be a gateway: run nothing here, and send runs to the workers at these brokers, nats://HOST:PORT with commas between
    #[arg(long, value_name = "URL", conflicts_with_all = ["preload", "store", "asked"])]
    pub nats: Option<String>,
    #[command(flatten)]
    pub credentials: Credentials,
    /// Keep durable jobs also on brokers older than 2.11, which lose some when one of them restarts
    #[arg(long, requires = "nats")]
    pub allow_old_broker: bool,
    /// The file with the key that all gateways of the fleet sign ids of sessions with [default: session.key of the credentials, or a new one]
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub session_key: Option<PathBuf>,
    #[command(flatten)]
    pub interpreter: Interpreter,
    /// Modules to import before jobs come, once for all
    #[arg(long, value_name = "MODULE", value_delimiter = ',')]
    pub preload: Vec<String>,
    #[command(flatten)]
    pub records: Records,
    #[command(flatten)]
    pub budget: MemoryBudget,
}

#[derive(Args)]
pub struct Mcp {
    #[command(flatten)]
    pub given: Given,
    #[command(flatten)]
    pub choice: Choice,
    #[command(flatten)]
    pub records: Records,
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
    /// Where the programs run: each in a jar of its own, in a session or in a branch of one; there without controls
    #[arg(long, value_name = "PLACE", default_value = "jar", conflicts_with = "controls")]
    pub inside: InsideName,
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
    /// Measure this alone, as a report of its own
    #[arg(conflicts_with_all = ["only", "peers"])]
    pub subject: Option<Subject>,
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
    /// The nats-server that `bench fleet` starts [default: nats-server of PATH]
    #[arg(long, value_name = "PATH")]
    pub broker: Option<PathBuf>,
    /// Write every sample to a file
    #[arg(long, value_name = "FILE")]
    pub raw: Option<PathBuf>,
    /// Print the numbers as JSON
    #[arg(long)]
    pub json: bool,
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
    /// Run trivial jobs for three seconds, and say up to what rate one machine like this is enough
    #[arg(long, conflicts_with = "packages")]
    pub measure: bool,
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

fn exit_codes() -> String {
    let rows =
        ExitCode::TABLE.iter().map(|(code, words)| format!("  {:>2}  {words}\n", *code as u8));
    format!("Exit codes of `carboy run`:\n{}", rows.collect::<String>())
}
