//! Gateways and nodes on a bus inside this process, with a runner that does what its job says.
//!
//! Time stands still but for what a test lets pass, and a test waits for events: nothing here depends on how fast the
//! machine is.

mod faults;
mod hostile;
mod link;
mod placing;
mod said;
mod world;
