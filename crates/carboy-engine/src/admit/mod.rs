//! Who gets in: what a caller may ask for, what the language guard says to it, and whose turn it is.

mod answer;
pub(crate) mod budget;
mod config;
pub(crate) mod files;
mod filesystems;
pub(crate) mod gate;
pub(crate) mod language;
pub(crate) mod request;

pub(crate) use answer::outcome;
