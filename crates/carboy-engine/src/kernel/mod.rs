//! What the engine asks the kernel for, one file for each: processes as `/proc` shows them,
//! their end, control groups, descriptors whose readiness can be awaited, other threads, random ids.

pub(crate) mod async_fd;
pub(crate) mod blocking;
pub(crate) mod cgroup;
pub(crate) mod ending;
pub(crate) mod id;
pub(crate) mod proc;
