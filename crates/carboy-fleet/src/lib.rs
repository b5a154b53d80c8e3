//! What a gateway decides when many hosts run the jobs: which node a run goes to, who waits when all are full, and
//! what may be tried again.
//!
//! These are the decisions alone. Nothing here has a connection, a clock or a thread: the caller says what time it is
//! and what nodes said. So a simulation of a thousand nodes (`just simulate`) runs the code that a gateway will run.
//!
//! ```
//! use std::time::Duration;
//! use carboy_fleet::{Address, Hint, Nodes};
//!
//! let now = Duration::ZERO;
//! let mut nodes = Nodes::new(7);
//! let first = Address { node: 1, incarnation: 1 };
//! nodes.heard(first, Hint { free: 8, total: 8, draining: false }, now);
//! assert_eq!(nodes.choose(None, &[], now), Some(first));
//! nodes.refused(first);
//! assert_eq!(nodes.choose(None, &[], now), None);
//! ```
//!
//! It does not place processes on machines, and keeps no state that would have to agree between gateways.
#![forbid(unsafe_code)]

mod budget;
mod nodes;
mod random;
mod room;

pub use budget::Budget;
pub use nodes::{Address, Hint, Nodes, SILENCE};
pub use random::Random;
pub use room::{Full, Room, RoomBounds};
