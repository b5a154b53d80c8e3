//! The HTTP door, with real connections, hostile clients among them, and a runner that does what the code of its
//! jobs says. The suite of `carboy` has the same door before a real engine.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod attacks;
mod bounds;
mod door;
mod files;
mod jobs;
mod overload;
mod records;
mod refusals;
mod repeats;
mod server;
mod sessions;
mod shared;
mod streams;
mod tls;
mod uploads;
