//! Random ids: of outcomes, and of directories whose names nobody must guess.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::error::{EngineError, While};

/// 128 random bits in hexadecimal.
pub fn new_id() -> Result<String, EngineError> {
    let mut bits = [0; 16];
    getrandom(&mut bits, GetRandomFlags::empty()).while_doing("draw a random number")?;
    Ok(bits.iter().map(|byte| format!("{byte:02x}")).collect())
}
