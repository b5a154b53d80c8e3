//! Many hosts: a gateway is a runner whose jobs run on nodes, and a node runs what gateways send.
//!
//! What a gateway decides is apart from how it talks: which node a run goes to, who waits when all are full, and what may be
//! tried again. There the caller says what time it is and what nodes said, so a simulation of a thousand nodes
//! (`just simulate`) runs the code that a gateway runs. How it talks is one trait, [`Bus`]: a broker, or this process.
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
mod bus;
mod clock;
pub mod files;
mod gateway;
mod init;
pub mod jobs;
pub mod lease;
mod local;
pub mod message;
pub mod name;
mod nats;
mod nodes;
pub mod quota;
mod random;
mod room;
mod session;
mod watch;
mod worker;

pub use budget::Budget;
pub use bus::{Bus, BusError, Message, Subscription};
pub use clock::Clock;
pub use gateway::{FilesConfig, Gateway, GatewayConfig, RemoteSession};
pub use init::{BrokerPlace, FleetPlan, InitError, WrongPlace, init};
pub use local::{Fate, LocalBus};
pub use nats::{NatsBus, NatsOptions};
pub use nodes::{Address, Hint, Nodes, SILENCE};
pub use random::Random;
pub use room::{Full, Room, RoomBounds};
pub use session::{
    BadKey, Doing, Fault, HeldSessions, HoldsSessions, MOST_SESSIONS, SessionId, SessionKey,
    SessionOf, Told, Wanted,
};
pub use watch::{FORGOTTEN, Picture, SeenGateway, SeenNode, Watch};
pub use worker::{Spool, Worker, WorkerConfig};
