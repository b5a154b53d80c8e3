//! Runs jobs in jars: the Rust API of carboy.
//!
//! An [`Engine`] keeps a warm interpreter (a zygote) behind walls of its own and forks it into a
//! jar for every run. Everything that comes out of a jar is bounded and checked here; why a run
//! ended is decided here, from what the kernel reports.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use carboy_engine::{Config, Engine, Installation};
//! use carboy_protocol::Job;
//!
//! let config = Config::new(Installation::at("/usr/bin/carboy")?, "python3");
//! let engine = Engine::new(config)?;
//! let outcome = engine.run(Job::new("result = sum(context)")).await?;
//! println!("{:?}", outcome.result);
//! engine.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! It does not serve a network protocol, parse a command line, or link an interpreter. Three
//! results are never mixed: what came of the guest is an [`Outcome`](carboy_protocol::Outcome),
//! the caller's mistake a [`RequestError`], our own failure an [`EngineError`].
#![forbid(unsafe_code)]

mod admit;
pub mod doctor;
mod engine;
mod error;
mod facts;
mod host;
mod kernel;
mod plan;
mod pool;
mod run;
mod runner;
mod session;
mod tier;
mod verdict;

pub use admit::gate::GateConfig;
pub use carboy_guard::check as check_code;
pub use carboy_sys::Machine;
pub use engine::{Config, Engine};
pub use error::{Busy, EngineError, FleetError, RequestError, RunError, Short};
pub use host::{Because, Host, Installation, Layout, LeftOut, Memory, Python, Shown, Versions};
pub use kernel::id::new_id;
pub use plan::{Plan, ablated};
pub use pool::PoolConfig;
pub use runner::{
    Answer, Artifacts, Call, Chunk, IN_FLIGHT, Keeper, Load, RunOptions, Runner, Stream, ToolHost,
    Witness,
};
pub use session::{Session, SessionHandle, Sessions, check as check_session};
pub use tier::process::{Preload, Preloading};
