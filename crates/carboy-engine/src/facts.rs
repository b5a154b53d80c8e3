//! What is known of a run when it is over: how the watch over it ended, what the kernel counted, and
//! what was refused. Plain data, from which `verdict` decides.

use std::time::Duration;

use carboy_jail::JAR_FDS;
use carboy_protocol::{FromJar, LimitName, Limits, Policy, SessionFiles};

/// What ended the watch over a run.
#[derive(Debug)]
pub(crate) enum Ending {
    /// The jar sent its last frame.
    Said(FromJar),
    /// It sent something that is not a frame.
    BrokenFrame(String),
    /// It closed the pipe for its result and went on.
    PipeClosed,
    /// Its process ended without a last frame.
    Gone,
    /// The engine saw a limit crossed.
    Limit(LimitName),
    /// The caller ended it.
    Cancelled,
}

/// How a jar's process ended and what it used, from whoever reaped it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Exit {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub cpu_us: u64,
    pub peak_memory_bytes: u64,
}

/// What a jar holds before its job comes. Limits of memory and threads count from there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Baseline {
    /// Its private memory.
    pub data_bytes: u64,
    /// Its address space.
    pub address_bytes: u64,
    /// Its memory that no file backs, with its page tables.
    pub anonymous_bytes: u64,
    /// Processor time that was used in the jar to import modules.
    pub import_us: u64,
    /// Its threads beside the main one.
    pub threads: u64,
}

impl Baseline {
    /// Both together.
    pub fn plus(self, more: Baseline) -> Baseline {
        Baseline {
            data_bytes: self.data_bytes + more.data_bytes,
            address_bytes: self.address_bytes + more.address_bytes,
            anonymous_bytes: self.anonymous_bytes + more.anonymous_bytes,
            import_us: self.import_us + more.import_us,
            threads: self.threads + more.threads,
        }
    }

    /// What has come on top of another.
    pub fn beyond(self, other: Baseline) -> Baseline {
        Baseline {
            data_bytes: self.data_bytes.saturating_sub(other.data_bytes),
            address_bytes: self.address_bytes.saturating_sub(other.address_bytes),
            anonymous_bytes: self.anonymous_bytes.saturating_sub(other.anonymous_bytes),
            import_us: self.import_us.saturating_sub(other.import_us),
            threads: self.threads.saturating_sub(other.threads),
        }
    }
}

/// What the kernel knows of the jar.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub exit: Exit,
    /// What it had used before the job came: sealing, warming.
    pub cpu_before_us: u64,
    /// The most private memory that was seen, as the kernel counts it for its limit.
    pub data_bytes: u64,
    /// The address space at its highest.
    pub peak_address_bytes: u64,
    /// Resident memory at its highest.
    pub peak_resident_bytes: u64,
    /// The most pages of files that were seen in its memory.
    pub peak_file_bytes: u64,
    /// The most memory that no file backs that was seen.
    pub peak_anonymous_bytes: u64,
    /// What it held at the end beyond what it began with.
    pub held_bytes: u64,
    /// The kernel ended it because its control group was out of memory.
    pub out_of_memory: bool,
    pub open_descriptors: Option<u64>,
    pub space_full: bool,
    pub files_full: bool,
    pub baseline: Baseline,
}

impl Facts {
    /// Takes pages of files out of what was resident at its highest: those of a file that a run is given are
    /// the kernel's cache, which it frees as it likes. The kernel keeps no such peak, so this is what is certain
    /// of it: files were not more than was seen of them, and the rest was not less than was seen of it.
    pub fn leave_out_files(&mut self) {
        let least = self.peak_anonymous_bytes;
        for peak in [&mut self.exit.peak_memory_bytes, &mut self.peak_resident_bytes] {
            *peak = peak.saturating_sub(self.peak_file_bytes).max(least.min(*peak));
        }
    }
}

/// What a call was refused that wanted something of which there is a limited amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Thread,
    Process,
    /// So many bytes.
    Memory(u64),
}

impl Wanted {
    /// Whether having got this shows that `refused` was got over.
    fn is_as_much_as(self, refused: Wanted) -> bool {
        match (self, refused) {
            (Wanted::Memory(got), Wanted::Memory(refused)) => got >= refused,
            (got, refused) => got == refused,
        }
    }
}

/// A system call that was refused, and what the code was told.
#[derive(Clone, Debug)]
pub(crate) struct RefusedCall {
    pub errno: i32,
    /// What to write instead.
    pub hint: String,
    /// What it wanted, if it was refused for want of a grant.
    pub wanted: Option<Wanted>,
}

/// A system call that was refused, as often as it was.
#[derive(Clone, Debug)]
pub(crate) struct Tried {
    pub count: u64,
    /// What to write instead.
    pub hint: String,
    /// When it was refused last, from the start of the run.
    pub last: Duration,
}

impl Tried {
    /// Not once yet.
    pub fn new(hint: String) -> Tried {
        Tried { count: 0, hint, last: Duration::ZERO }
    }
}

/// What was refused in a run, as far as it tells why the run ended: the last refusal, until something
/// came after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Refused {
    pub last: Option<RefusedCall>,
}

impl Refused {
    /// A call was granted. What was refused of the same kind before cannot be why the run ends.
    pub fn granted(&mut self, got: Wanted) {
        let last = self.last.as_ref().and_then(|last| last.wanted);
        if last.is_some_and(|refused| got.is_as_much_as(refused)) {
            self.last = None;
        }
    }
}

/// The most private memory that a jar is seen with before it is ended: its limit, and some room because
/// what is measured is not precise.
pub(crate) fn most_held(limits: &Limits) -> u64 {
    limits.memory_bytes + limits.memory_bytes / 16 + (1 << 20)
}

/// The same for all heads of a session together.
pub(crate) fn most_together(limits: &Limits) -> u64 {
    limits.session_memory_bytes + limits.session_memory_bytes / 16 + (1 << 20)
}

/// What the kernel can be made to hold for a jar beside what its limits count, as SPECIFICATION.md lists it.
const KERNEL: u64 = 34 << 20;

/// All the memory that a jar may come to use: what its limits allow, what it may copy of what it is forked
/// from, and what the kernel holds for it.
pub(crate) fn may_use(limits: &Limits, copied_bytes: u64) -> u64 {
    most_held(limits) + limits.file_bytes + copied_bytes + KERNEL
}

/// The same for a session: its heads share what they were copied from, and each has files open and threads.
pub(crate) fn may_use_together(limits: &Limits, copied_bytes: u64) -> u64 {
    most_together(limits) + limits.file_bytes + copied_bytes + KERNEL
}

/// What one moment of the files of a session may take in memory, where they roll back: their content, and what is
/// known of each.
pub(crate) fn most_kept(limits: &Limits) -> u64 {
    limits.file_bytes.saturating_add(limits.files.saturating_mul(2 << 10))
}

/// What all of them may take: the moment after the last run, and as much for all checkpoints.
pub(crate) fn kept_together(policy: &Policy) -> u64 {
    match policy.session_files {
        SessionFiles::Shared => 0,
        SessionFiles::Rollback => most_kept(&policy.limits).saturating_mul(2),
    }
}

/// How many descriptors a jar can have: the policy counts the guest's own files, and those that every
/// jar has come on top.
pub(crate) fn open_files(limits: &Limits) -> u64 {
    limits.open_files + JAR_FDS.len() as u64
}
