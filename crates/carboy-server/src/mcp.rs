//! MCP: a door for agents, whose models call tools.
//!
//! `run_python` runs a job, the session tools run code that keeps its state, and the file tools read what runs left.
//! What a model is told is text: the policy before it writes code, and of each run what came of it, with hints that
//! it can act on. Everything that a guest wrote is bounded, and framed by words that the guest could not know.
//! The protocol itself is the `rmcp` crate's.

mod about;
mod answer;
mod arguments;
mod handler;
mod place;
mod shelf;
mod text;
mod tools;

use std::io;
use std::sync::Arc;

use carboy_engine::{EngineError, RunError, Sessions};
use rmcp::service::{ServerInitializeError, serve_server};
use tokio::io::{AsyncRead, AsyncWrite};

use crate::desk::Desk;
use place::Own;
use shelf::Shelf;

pub use about::About;
pub(crate) use handler::Handler;
pub(crate) use place::Place;
pub(crate) use shelf::Kept;

/// Serves one client that started this process, until it is gone. What is still running then is ended.
pub async fn serve<R: Sessions>(
    runner: R,
    about: About,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), RunError> {
    let shelf = Arc::new(Shelf::default());
    let desk = Arc::new(Desk::new(runner).keeping(shelf.clone()));
    let place = Own::new(desk.clone(), about, shelf);
    let served = match serve_server(Handler::new(Arc::new(place)), (input, output)).await {
        Ok(running) => running.waiting().await.map(drop).map_err(io::Error::other),
        // It left before it said what it wants.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    };
    desk.shutdown().await;
    served.map_err(|error| EngineError::Os { step: "serve MCP", error }.into())
}
