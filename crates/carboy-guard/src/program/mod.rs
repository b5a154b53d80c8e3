//! What a program says of itself: the names it binds, its modules and classes, its literal texts.

mod classes;
mod field;
mod gather;
mod literal;
mod modules;

pub(crate) use classes::Classes;
pub(crate) use gather::{Gathered, gather};
pub(crate) use literal::literals;
