//! What remains of runs when they are over.
//!
//! A store is a directory of the caller's. This crate keeps it; it runs nothing, parses no command
//! line, and knows no format of its own: what it writes can be read with the tools people have.
#![forbid(unsafe_code)]

mod digest;

pub use digest::{Digest, sha256};
