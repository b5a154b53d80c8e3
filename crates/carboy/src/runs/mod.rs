//! The parts of `carboy runs`.

pub mod arguments;
pub mod export;
pub mod list;
mod page;
pub mod replay;
pub mod show;
mod words;
