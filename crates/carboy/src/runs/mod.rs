//! The parts of `carboy runs`.

pub mod arguments;
pub mod export;
pub mod list;
pub mod replay;
pub mod show;
