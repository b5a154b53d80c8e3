//! stub
use crate::arguments::Explain;
use crate::failure::Failure;
pub fn explain(_a: Explain) -> Result<std::process::ExitCode, Failure> {
    Ok(0.into())
}
