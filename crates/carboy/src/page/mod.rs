//! Pages of HTML that stand alone: of a run, recorded or just made, and of a drill.

mod code;
mod display;
mod document;
pub mod drill;
pub mod run;

pub use display::shown;
