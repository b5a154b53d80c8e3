//! Jars that are forks of a warm CPython behind walls.

pub(crate) mod jar;
pub(crate) mod scratch;
pub(crate) mod zygote;
