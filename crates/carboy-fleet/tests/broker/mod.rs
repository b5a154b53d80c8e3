//! The broker that the tests of jobs start too.

#[path = "../jobs/broker.rs"]
#[allow(dead_code, reason = "the tests of jobs need an old broker too")]
mod started;

pub use started::{Broker, folder, program};
