//! What guest code runs in.

pub(crate) mod process;
