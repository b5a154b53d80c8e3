//! The `carboy` command: parses, wires, prints.
//!
//! Everything it does is done by the engine. The one exception is `carboy helper`, which is how
//! the engine starts this program again as the single-threaded parent of a zygote.
#![forbid(unsafe_code)]

mod arguments;
mod bench;
mod capacity;
mod choice;
mod command_bench;
mod command_check;
mod command_doctor;
mod command_drill;
mod command_explain;
mod command_mcp;
mod command_packages;
mod command_pages;
mod command_pipe;
mod command_run;
mod command_runs;
mod command_serve;
mod command_worker;
mod ends;
mod failure;
mod fleet;
mod given;
mod guest_text;
mod kernel;
mod memory_budget;
mod open;
mod page;
mod paint;
mod panics;
mod pictures;
mod policy_file;
mod queued;
mod readiness;
mod recording;
mod runs;
mod serve_log;
mod served;
mod session;
mod traceback;
mod worker_log;

use std::io::IsTerminal;
use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;
use failure::{Failure, Reader};

/// What an interpreter loads to become a zygote, as the build script made it.
const ZYGOTE_LIBRARY: &[u8] = include_bytes!(env!("CARBOY_ZYGOTE_LIBRARY"));

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|word| word == "helper") {
        return carboy_jail::helper(ZYGOTE_LIBRARY);
    }
    panics::tell_without_waiting();
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return mistyped(&error),
    };
    let mut reader = arguments.command.reader();
    let done = harden().and_then(|()| {
        let socket = match &arguments.command {
            Command::Pipe(pipe) => command_pipe::inherited(pipe)?,
            _ => None,
        };
        if let (Reader::Lines(lines), Some(socket)) = (&mut reader, &socket) {
            *lines = Some(socket.try_clone().map_err(Failure::os("watch the caller's socket"))?);
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            // Timers and pipes get their turn also while something keeps the runtime busy.
            .event_interval(8)
            .build()
            .map_err(Failure::os("start the runtime"))?;
        panics::block_on(runtime, async {
            match arguments.command {
                Command::Run(run) => command_run::run(run).await,
                Command::Runs(runs) => command_runs::runs(runs).await,
                Command::Check(check) => command_check::check_file(&check),
                Command::Doctor(doctor) if doctor.packages => {
                    command_packages::packages(&doctor.interpreter, doctor.json).await
                }
                Command::Doctor(doctor) => command_doctor::doctor(doctor).await,
                Command::Explain(explain) => command_explain::explain(explain),
                Command::Bench(bench) => command_bench::bench(bench).await,
                Command::Session(arguments) => session::session(*arguments).await,
                Command::Pipe(pipe) => command_pipe::serve(pipe, socket).await,
                Command::Serve(serve) => command_serve::serve(*serve).await,
                Command::Worker(worker) => command_worker::work(*worker).await,
                Command::Fleet(arguments) => fleet::fleet(arguments).await,
                Command::Top(arguments) => fleet::top(arguments).await,
                Command::Mcp(mcp) => command_mcp::serve(*mcp).await,
                Command::Kernel(wanted) => kernel::kernel(wanted).await,
                Command::Drill(drill) => command_drill::drill(drill).await,
                Command::Completions(shell) => command_pages::completions(&shell),
                Command::Man(man) => command_pages::man(&man),
            }
        })
    });
    match done {
        Ok(code) => code,
        Err(failure) => failure.tell(reader),
    }
}

/// Tells of arguments that are none, in the form that whoever typed them asked for.
fn mistyped(error: &clap::Error) -> ExitCode {
    let words: Vec<_> = std::env::args_os().skip(1).take_while(|word| word != "--").collect();
    let reader = match words.first() {
        Some(command) if command == "pipe" => Reader::Lines(None),
        Some(command) if command == "session" && !std::io::stdin().is_terminal() => {
            Reader::Lines(None)
        }
        _ if words.iter().any(|word| word == "--json") => Reader::Program,
        _ => Reader::Person,
    };
    // Help and version are no mistakes, and a person reads clap's own page.
    if !error.use_stderr() || matches!(reader, Reader::Person) {
        error.exit();
    }
    let page = error.to_string();
    let (first, _usage) = page.split_once("\n\n").unwrap_or((&page, ""));
    let message = first.strip_prefix("error: ").unwrap_or(first).trim_end();
    Failure::usage(message, "`carboy help` shows every command and its options").tell(reader)
}

/// The engine touches guest bytes and may hold secrets: no other process of this user can read
/// its memory, and it never leaves a core dump.
fn harden() -> Result<(), Failure> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};
    set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(Failure::os("hide this process's memory"))?;
    setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })
        .map_err(Failure::os("forbid core dumps"))
}
