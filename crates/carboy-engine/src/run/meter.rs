//! What is measured of a jar: at intervals, because there are ways to use memory and files that the
//! kernel does not count against a limit, and once more at the end.

use std::time::Duration;

use carboy_protocol::{FromJar, LimitName, Limits};
use tokio::time::{Instant as Moment, sleep_until};

use crate::error::{EngineError, While};
use crate::facts::{Ending, Exit, Facts, most_held};
use crate::tier::{Jar, Sample};

/// How often a jar's memory, and on the host its directory, is measured.
const MEASURE: Duration = Duration::from_millis(20);
/// Measuring takes at most one part in so many of the time: a guest decides how much there is to count.
const PART: u32 = 10;

/// The measurements of one run.
pub(super) struct Meter<'a> {
    limits: &'a Limits,
    next: Moment,
    /// When files are counted next.
    next_files: Moment,
    /// What the jar had used before the job came.
    cpu_before_us: u64,
    /// The same with its children, where that is counted.
    together_before_us: Option<u64>,
    /// The most private memory that was seen.
    peak_data: u64,
    /// The most pages of files, and the most of the rest.
    peak_file: u64,
    peak_anonymous: u64,
}

/// What was seen of a jar at the end, before anything was done to it.
pub(super) struct Last {
    pub facts: Facts,
    /// It answered and still stands, and all it used is in the facts: nobody has to wait for its end.
    pub is_known: bool,
    /// It is certain that it left no file.
    pub untouched: bool,
    /// A limit that it has crossed and that nobody had seen yet.
    pub over: Option<LimitName>,
}

impl<'a> Meter<'a> {
    pub fn new<J: Jar>(jar: &J, limits: &'a Limits) -> Result<Meter<'a>, EngineError> {
        let cpu_before_us = jar.cpu_us().while_doing("read a jar's clock")?;
        // A head counts from the end of its last run: between runs it is copied, and code takes part in that.
        let cpu_before_us = if jar.outlives_run() { 0 } else { cpu_before_us };
        let together_before_us = if limits.processes > 0 { jar.cpu_together_us() } else { None };
        let next = Moment::now() + MEASURE;
        Ok(Meter {
            limits,
            next,
            next_files: next,
            cpu_before_us,
            together_before_us,
            peak_data: 0,
            peak_file: 0,
            peak_anonymous: 0,
        })
    }

    /// Waits until it is time to measure.
    pub async fn tick(&self) {
        sleep_until(self.next).await;
    }

    /// A limit that the jar has crossed.
    pub async fn over<J: Jar>(&mut self, jar: &J) -> Option<LimitName> {
        let sample = jar.sample();
        if let Some(sample) = &sample {
            self.saw(sample);
        }
        // One sample is one short reading. Only what follows depends on what the guest did.
        let began = Moment::now();
        let over = self.held_over(jar, sample).await;
        self.next = after(began);
        if over.is_some() || began < self.next_files {
            return over;
        }
        // Files are counted in a rhythm of their own: there may be many, it takes a thread, and nobody
        // may take memory meanwhile because that thread was late.
        let began = Moment::now();
        let files = jar.files(self.limits).await;
        self.next_files = after(began);
        files.over
    }

    /// Keeps the peaks that the kernel does not keep.
    fn saw(&mut self, sample: &Sample) {
        self.peak_data = self.peak_data.max(sample.data_bytes);
        self.peak_file = self.peak_file.max(sample.file_bytes);
        self.peak_anonymous = self.peak_anonymous.max(sample.anonymous_bytes);
    }

    /// The processor time since the job came, with that of children, where that is counted. Alone the
    /// kernel counts it against the limit itself.
    pub fn cpu_together_us<J: Jar>(&self, jar: &J) -> Option<u64> {
        let before = self.together_before_us?;
        Some(jar.cpu_together_us()?.saturating_sub(before))
    }

    /// The processor time since the job came, of a process that had others before: the kernel counts them
    /// all.
    fn cpu_of_head_us<J: Jar>(&self, jar: &J) -> u64 {
        jar.cpu_us().map_or(0, |used| used.saturating_sub(self.cpu_before_us))
    }

    /// The kernel counts private memory when it is mapped, but there are ways to map it that it
    /// does not count. What is really there is measured, with some room for its imprecision.
    async fn held_over<J: Jar>(&self, jar: &J, sample: Option<Sample>) -> Option<LimitName> {
        let most = most_held(self.limits);
        let sample = sample?;
        let is_over = match self.limits.processes {
            // Without children it is all in the sample.
            0 => sample.anonymous_bytes.saturating_sub(jar.about().baseline.anonymous_bytes) > most,
            // That counts pages which children share once for each; only if it is too much they are
            // counted again, with care.
            _ => jar.held_bytes(&sample) > most && jar.held_together().await > most,
        };
        // In whole seconds, as the kernel limits each process.
        let most_us = self.limits.cpu_ms.div_ceil(1000) * 1_000_000;
        if is_over {
            Some(LimitName::MemoryBytes)
        } else if jar.outlives_run() && self.cpu_of_head_us(jar) > most_us {
            Some(LimitName::CpuMs)
        } else if jar.is_crowded(&sample, self.limits).await {
            Some(LimitName::SessionMemoryBytes)
        } else if self.cpu_together_us(jar).is_some_and(|used| used > most_us) {
            Some(LimitName::CpuMs)
        } else {
            None
        }
    }

    /// Looks once more, and ends a jar that has not spoken its last word. Of one that answered it does
    /// not matter how many files it has open.
    pub async fn last<J: Jar>(&mut self, jar: &J, ending: &Ending) -> Last {
        let answered = matches!(ending, Ending::Said(FromJar::Done(_)));
        let sample = jar.sample();
        if let Some(sample) = &sample {
            self.saw(sample);
        }
        let cpu_us = jar.cpu_us().unwrap_or(self.cpu_before_us);
        let open_descriptors = if answered { None } else { jar.open_descriptors() };
        if !matches!(ending, Ending::Said(_)) {
            // It has had its time, and files can be counted without it.
            jar.kill();
        }
        let files = jar.files(self.limits).await;
        let over = self.held_over(jar, sample).await.or(files.over);
        let peak = sample.and_then(|sample| sample.peak_resident_bytes);
        // A process that has ended shows nothing, and its number may be somebody else's: what was read
        // above counts if it is still there now. Children count too, and only whoever reaps the jar
        // knows of them.
        let is_complete = peak.is_some() && jar.is_alive() && self.limits.processes == 0;
        let facts = Facts {
            exit: Exit { cpu_us, peak_memory_bytes: peak.unwrap_or(0), ..Exit::default() },
            cpu_before_us: self.cpu_before_us,
            data_bytes: self.peak_data,
            peak_address_bytes: sample.map_or(0, |sample| sample.peak_address_bytes),
            peak_resident_bytes: peak.unwrap_or(0),
            peak_file_bytes: self.peak_file,
            peak_anonymous_bytes: self.peak_anonymous,
            held_bytes: sample.map_or(0, |sample| {
                sample.anonymous_bytes.saturating_sub(jar.about().baseline.anonymous_bytes)
            }),
            out_of_memory: false,
            open_descriptors,
            space_full: files.space_full,
            files_full: files.files_full,
            baseline: jar.about().baseline,
        };
        // What holds a session is kept after an exception too.
        let is_done = answered || (jar.outlives_run() && matches!(ending, Ending::Said(_)));
        let is_known = is_done && over.is_none() && is_complete;
        Last { facts, is_known, untouched: files.untouched, over }
    }
}

/// When to measure again what was measured from this moment until now.
fn after(began: Moment) -> Moment {
    let now = Moment::now();
    now + MEASURE.max((now - began) * PART)
}
