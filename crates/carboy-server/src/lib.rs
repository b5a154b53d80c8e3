//! The front doors of carboy: where callers of other processes ask for runs.
//!
//! A [`Desk`] holds the runs that are under way, by the caller's key, and the sessions that are open. It
//! starts them on a [`Runner`](carboy_engine::Runner), passes on what they print and call, takes answers and
//! cancellations, and says how each ended, once. A door speaks one protocol and knows the desk; the
//! desk knows no protocol. The [`pipe`] serves one caller that
//! started this process, [`http`] many callers with keys.
//!
//! ```no_run
//! # async fn example(config: carboy_engine::Config) -> Result<(), Box<dyn std::error::Error>> {
//! use carboy_engine::{Config, Engine};
//! use carboy_server::{Desk, pipe};
//!
//! let (preloading, preloads) = tokio::sync::mpsc::channel(16);
//! let engine = Engine::new(Config { preloading: Some(preloading), ..config })?;
//! let python = engine.python().version.clone();
//! pipe::serve(Desk::new(engine), python, preloads, pipe::Ends::standard()?).await?;
//! # Ok(())
//! # }
//! ```
//!
//! It parses no command line, and it does not know what surrounds a jar.
#![forbid(unsafe_code)]

mod client;
mod desk;
pub mod http;
mod line;
pub mod mcp;
pub mod pipe;
pub mod telemetry;

pub use desk::{Desk, End, Event, Order, Taken, UnderWay, Work};
