//! What a program says of itself: the names it binds, its modules and classes, its literal texts.

mod gather;
mod literal;

pub(crate) use gather::{Gathered, gather};
pub(crate) use literal::literals;
