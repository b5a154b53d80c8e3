//! Confines a process to a plan, and reads back what the kernel enforces.
//!
//! The engine resolves a policy against a host into plans ([`ZygotePlan`], [`JarWalls`],
//! [`JarPlan`]); everything here obeys them and decides nothing. There are two entries, each a
//! page: [`helper`] builds the walls of a zygote and becomes it, [`seal`] turns a fork of the
//! zygote into a jar. Every step either does what the plan says or ends in a
//! [`SetupFault`](carboy_protocol::SetupFault) that names the layer; no release build leaves out a
//! step.
//!
//! The crate is synchronous and single-threaded, opens no network connection and reads no
//! configuration.
#![forbid(unsafe_code)]

#[cfg(all(feature = "ablation", not(debug_assertions)))]
compile_error!("a release has every layer: build without the feature `ablation`");

mod control;
mod enter;
mod fault;
mod files;
pub mod filter;
mod given;
mod hand_in;
mod helper;
mod identity;
mod landlock;
mod library;
mod limits;
mod mappings;
mod plan;
mod privileges;
pub mod profile;
mod rank;
mod removal;
mod root;
mod workers;

pub use carboy_sys::name_of as call_name;
pub use control::{MAX_MESSAGE, inherited_socket, receive, send, send_patiently};
pub use enter::{SealReport, seal};
pub use fault::hint;
pub use files::own_inodes;
pub use given::GIVEN;
pub use helper::helper;
pub use landlock::{Substitute, probe as probe_landlock, substitutes};
pub use limits::{Resource, Rlimit};
pub use mappings::shared_writable;
pub use plan::{
    About, Given, GivenSource, HandIn, HostSource, Identity, JAR_FDS, JarDirectory, JarPlan,
    JarWalls, LandlockPlan, Link, Mount, MountKind, SECCOMP_FD, SHARED_MEMORY, TextFile,
    ZYGOTE_CONTROL_FD, ZYGOTE_LIBRARY_FD, ZYGOTE_SCORE_FD, ZygotePlan,
};
pub use rank::{OomScore, rank_fault};
pub use removal::{open_directory, remove_tree};
