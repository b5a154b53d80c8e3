//! Sessions on nodes: their ids, what a node holds, and what is said about them.
//!
//! A session lives in one start of one node's process, and its id says which. A gateway that is asked for a session
//! sends what is asked there, and has nothing to look up or to remember, so every gateway of a cell reaches every
//! session. When the node is gone, so is the session: nothing is run again.

mod held;
#[cfg(test)]
mod held_tests;
mod id;
#[cfg(test)]
mod lane_tests;
mod message;
#[cfg(test)]
mod scripted;

pub use held::{Doing, HeldSessions, HoldsSessions, MOST_SESSIONS};
pub use id::{BadKey, SessionId, SessionKey};
pub use message::{Fault, SessionOf, Told, Wanted};
