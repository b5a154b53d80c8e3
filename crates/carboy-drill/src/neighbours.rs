//! One hostile guest beside innocent runs in the same engine. It is not enough that the innocent ones
//! are right: the row fails if they are late, if the hostile one outlives its deadline, or if it holds
//! more memory than it may, the kernel's own included.
//!
//! Late is a ratio: innocent runs beside the hostile guest, compared with innocent runs beside a plain
//! busy loop a moment before, in the same engine. A host that is busy with other things spoils such
//! comparisons: on a virtual machine whose processors are taken away now and then, about one in five. A row
//! that does not hold is therefore measured again, each time with a busy loop of its own, until it is
//! clear whether most rounds agree. The bounds stay what they are.

use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_engine::{Artifacts, Config, Engine, GateConfig, RunError, RunOptions};
use carboy_protocol::{Job, Limits, Policy, Walls};
use tokio::task::JoinSet;

use crate::canary::call_numbers;
use crate::end::{end, failing};
use crate::held::Meter;
use crate::row::Row;
use crate::tray::Tray;

/// What an innocent run may take, as a multiple of what it takes beside a plain busy loop.
const TIMES: f64 = 3.0;
/// How long a guest may outlive its deadline.
const OVERRUN: Duration = Duration::from_millis(50);
/// How often a row that did not hold at once is measured at most.
const ROUNDS: usize = 15;
/// In how many of them it must be beyond a bound to have failed.
const AGREE: usize = 10;
/// Kernel memory that a jar can hold beside its limits. SPECIFICATION.md lists of what.
const KERNEL_ROOM: u64 = 34 << 20;
/// By how much the jars that stand and what else the host does may differ between two measurements.
const NOISE: u64 = 16 << 20;
/// What is done between two innocent runs: nothing, for so long.
const PAUSE: Duration = Duration::from_millis(1);
/// What innocent runs are compared with.
const BUSY_LOOP: &str = "while True: pass";

/// An engine with a hostile caller and an innocent one.
pub(crate) struct Neighbours {
    engine: Arc<Engine>,
    walls: Walls,
    /// What innocent runs took beside the busy loop of each row, in milliseconds.
    plain: Vec<f64>,
}

/// What came of a row.
pub(crate) struct Judged {
    /// How the hostile runs ended, with the figures.
    pub ended: String,
    pub faults: Vec<String>,
}

/// What was measured beside something.
struct Beside {
    /// How long each innocent run took.
    taken: Vec<Duration>,
    /// Why innocent runs failed, each once.
    wrong: Vec<String>,
    /// How the others ended, and how long after their deadline.
    others: Vec<(String, Duration)>,
    /// Memory at its highest, in bytes.
    peak: u64,
}

/// A row compared once with a busy loop.
struct Round {
    count: usize,
    plain: Duration,
    hostile: Duration,
    /// The longest time after a deadline.
    overrun: Duration,
    /// Memory at its highest, above what it was beside the busy loop.
    grown: u64,
    /// How the hostile runs ended, each end once.
    ends: Vec<String>,
    wrong: Vec<String>,
}

impl Neighbours {
    /// An engine as a caller would make it who serves several tenants: none of them gets all places.
    pub fn new(config: Config, walls: Walls) -> Result<Neighbours, RunError> {
        let gate = GateConfig::default();
        let gate = GateConfig { running_per_tenant: Some(gate.running / 2), ..gate };
        let engine = Arc::new(Engine::new(Config { gate, ..config })?);
        Ok(Neighbours { engine, walls, plain: vec![] })
    }

    /// Runs a row and judges it.
    pub async fn attack(&mut self, row: &Row, limits: &Limits) -> Result<Judged, RunError> {
        let mut first = self.round(row, limits).await?;
        if !self.is_ordinary(&first) {
            first = self.round(row, limits).await?;
        }
        let mut rounds = vec![first];
        while !is_clear(row, limits, &rounds) {
            rounds.push(self.round(row, limits).await?);
        }
        Ok(Judged { ended: figures(&rounds), faults: faults(row, limits, &rounds) })
    }

    pub async fn close(self) {
        self.engine.shutdown().await;
    }

    /// Whether innocent runs took about as long beside the busy loop of a round as they mostly do. Beside
    /// one that was far worse any row would hold.
    fn is_ordinary(&mut self, round: &Round) -> bool {
        self.plain.push(milliseconds(round.plain));
        milliseconds(round.plain) <= 2.0 * median(self.plain.iter().copied())
    }

    async fn round(&self, row: &Row, limits: &Limits) -> Result<Round, RunError> {
        let busy = Limits { wall_ms: limits.wall_ms, ..Limits::default() };
        let plain = self.beside(&busy, &[BUSY_LOOP.to_owned()], 1).await?;
        let hostile = self.beside(limits, &row.programs, row.at_once).await?;
        let mut ends: Vec<String> = hostile.others.iter().map(|(end, _)| end.clone()).collect();
        ends.sort_unstable();
        ends.dedup();
        let overruns = hostile.others.iter().map(|(_, overrun)| *overrun);
        Ok(Round {
            count: hostile.taken.len(),
            plain: p99(plain.taken),
            hostile: p99(hostile.taken),
            overrun: overruns.max().unwrap_or_default(),
            grown: hostile.peak.saturating_sub(plain.peak),
            ends,
            wrong: hostile.wrong,
        })
    }

    /// Runs the programs at once, each from so many callers, and innocent runs one after another until
    /// all of them have ended.
    async fn beside(
        &self,
        limits: &Limits,
        programs: &[String],
        at_once: usize,
    ) -> Result<Beside, RunError> {
        // Whatever is started or ended for what was before is no part of this.
        for _ in 0..3 {
            self.innocent().await?;
        }
        let meter = Meter::start();
        let mut under_way = JoinSet::new();
        for code in programs.iter().flat_map(|code| std::iter::repeat_n(code, at_once)) {
            let policy = Policy { walls: self.walls, limits: limits.clone(), ..Policy::default() };
            let mut job = Job::new(code.clone()).with_policy(policy);
            let context = serde_json::json!({ "nr": call_numbers() }).to_string();
            let context = serde_json::value::RawValue::from_string(context);
            job.inputs.extend(context.ok().map(|context| ("context".into(), context)));
            under_way.spawn(again(self.engine.clone(), job));
        }
        let (mut taken, mut wrong, mut others) = (vec![], vec![], vec![]);
        while !under_way.is_empty() {
            let began = Instant::now();
            let why = self.innocent().await?;
            taken.push(began.elapsed());
            wrong.extend(why.filter(|why| !wrong.contains(why)));
            tokio::time::sleep(PAUSE).await;
            while let Some(ended) = under_way.try_join_next() {
                others.extend(ended.map_err(std::io::Error::other).map_err(failing("run"))??);
            }
        }
        Ok(Beside { taken, wrong, others, peak: meter.stop() })
    }

    /// An innocent run of another tenant; why it went wrong, if it did.
    async fn innocent(&self) -> Result<Option<String>, RunError> {
        let policy = Policy { walls: self.walls, ..Policy::default() };
        let options = RunOptions { tenant: "innocent".into(), ..RunOptions::default() };
        let job = Job::new("result = 1").with_policy(policy);
        Ok(match self.engine.run_with(job, options).await {
            Ok(outcome) => {
                let result = outcome.result.as_ref().map(|result| result.get());
                let is_right = end(&outcome) == "ok" && result == Some("1");
                (!is_right).then(|| format!("{}, {result:?}", end(&outcome)))
            }
            Err(error) => Some(error.to_string()),
        })
    }
}

/// Runs a job until its time is over, again if it ends early: one caller may send many. How each run
/// ended, and how long after its deadline it was killed.
async fn again(engine: Arc<Engine>, job: Job) -> Result<Vec<(String, Duration)>, RunError> {
    let time = Duration::from_millis(job.policy.limits.wall_ms);
    let began = Instant::now();
    let mut ended = Vec::new();
    loop {
        let artifacts = Artifacts::Keep(Arc::new(Tray::default()));
        let options = RunOptions { tenant: "hostile".into(), artifacts, ..RunOptions::default() };
        let outcome = engine.run_with(job.clone(), options).await?;
        let lived = Duration::from_secs_f64(outcome.usage.wall_ms.max(0.0) / 1e3);
        ended.push((end(&outcome), lived.saturating_sub(time)));
        if began.elapsed() >= time {
            return Ok(ended);
        }
    }
}

/// What is measured in each round, and what it may be at most.
struct Bound {
    value: fn(&Round) -> f64,
    most: f64,
}

impl Bound {
    /// How much innocent runs were slowed down, how long the guest outlived its deadline, what it held.
    fn all(row: &Row, limits: &Limits) -> [Bound; 3] {
        let memory = mebibytes(most_memory(row, limits));
        [
            Bound { value: Round::ratio, most: TIMES },
            Bound { value: |round| milliseconds(round.overrun), most: milliseconds(OVERRUN) },
            Bound { value: |round| mebibytes(round.grown), most: memory },
        ]
    }

    /// In how many of these rounds it was beyond.
    fn beyond(&self, rounds: &[Round]) -> usize {
        rounds.iter().filter(|round| (self.value)(round) > self.most).count()
    }

    /// Whether a first round was within it, or whatever comes it will have failed, or will have held.
    fn is_clear(&self, rounds: &[Round]) -> bool {
        let beyond = self.beyond(rounds);
        beyond == 0 || beyond >= AGREE || rounds.len() - beyond > ROUNDS - AGREE
    }

    /// Whether it failed, if that is clear; the middle of what was measured.
    fn failed(&self, rounds: &[Round]) -> Option<f64> {
        let has_failed = self.beyond(rounds) * ROUNDS >= rounds.len() * AGREE;
        has_failed.then(|| median(rounds.iter().map(self.value)))
    }
}

/// Whether another round could change what is said of a row.
fn is_clear(row: &Row, limits: &Limits, rounds: &[Round]) -> bool {
    Bound::all(row, limits).iter().all(|bound| bound.is_clear(rounds))
}

/// What is wrong with a row after these rounds. Something that went wrong counts if it did once; what
/// was measured counts if most rounds agree.
fn faults(row: &Row, limits: &Limits, rounds: &[Round]) -> Vec<String> {
    let mut faults = Vec::new();
    for round in rounds {
        let ends = round.ends.iter().filter(|ended| !row.expects(ended));
        faults
            .extend(ends.map(|end| format!("it ended {end}, and not {}", row.expect.join(" or "))));
        faults.extend(round.wrong.iter().map(|why| format!("an innocent run failed: {why}")));
    }
    faults.sort_unstable();
    faults.dedup();
    let [late, overrun, memory] = Bound::all(row, limits);
    let most = |bound: &Bound| format!("at most {:.0}", bound.most);
    faults.extend(late.failed(rounds).map(|ratio| {
        let most = most(&late);
        format!("innocent runs took {ratio:.1} times as long as beside a busy loop (p99), {most} is allowed")
    }));
    faults.extend(overrun.failed(rounds).map(|time| {
        format!("it outlived its deadline by {time:.0} ms, {} ms are allowed", most(&overrun))
    }));
    faults.extend(
        memory.failed(rounds).map(|grown| {
            format!("memory grew by {grown:.0} MiB, {} MiB are allowed", most(&memory))
        }),
    );
    faults
}

/// The most memory that all programs of a row may hold together, as seen from outside.
fn most_memory(row: &Row, limits: &Limits) -> u64 {
    let memory = limits.memory_bytes + limits.memory_bytes / 16 + (1 << 20);
    let each = memory + limits.file_bytes + KERNEL_ROOM;
    each * (row.programs.len() * row.at_once) as u64 + NOISE
}

/// The figures of a row, by their medians.
fn figures(rounds: &[Round]) -> String {
    let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value));
    let mut ends: Vec<&str> =
        rounds.iter().flat_map(|round| &round.ends).map(String::as_str).collect();
    ends.sort_unstable();
    ends.dedup();
    format!(
        "{}; {} innocent runs, p99 {:.1} ms, beside a busy loop {:.1} ms; {:.0} ms after its deadline; \
         memory +{:.0} MiB{}",
        ends.join(", "),
        rounds.iter().map(|round| round.count).sum::<usize>(),
        of(|round| milliseconds(round.hostile)),
        of(|round| milliseconds(round.plain)),
        of(|round| milliseconds(round.overrun)),
        of(|round| mebibytes(round.grown)),
        if rounds.len() > 1 { format!("; {} rounds", rounds.len()) } else { String::new() },
    )
}

impl Round {
    fn ratio(&self) -> f64 {
        self.hostile.as_secs_f64() / self.plain.as_secs_f64().max(1e-6)
    }
}

/// The time that 99 of 100 took at most.
fn p99(mut taken: Vec<Duration>) -> Duration {
    taken.sort_unstable();
    let rank = (taken.len() * 99).div_ceil(100);
    taken.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// The one in the middle; of an even number the lower of the two there.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        let text = "# id: NBR-99\n# title: sleeps\n# walls: full\n# first: engine clock\n# second: none\n\
            # expect: limit wall_ms\n# limits: wall_ms=500 memory_bytes=16777216 file_bytes=1048576\n\
            # control: none: it is a test\n# mode: beside\n# at once: 2\nimport time\ntime.sleep(5)\n";
        Row::parse(text).unwrap()
    }

    /// A round in which innocent runs took so many milliseconds beside the hostile guest and ten beside
    /// the busy loop.
    fn round(hostile: u64) -> Round {
        Round {
            count: 100,
            plain: Duration::from_millis(10),
            hostile: Duration::from_millis(hostile),
            overrun: Duration::from_millis(50),
            grown: 0,
            ends: vec!["limit wall_ms".into()],
            wrong: vec![],
        }
    }

    fn judge(rounds: &[Round]) -> String {
        let row = row();
        faults(&row, &row.limits_changed(&[]).unwrap(), rounds).join("; ")
    }

    #[test]
    fn late_is_more_than_three_times_what_it_is_beside_a_busy_loop_in_most_rounds() {
        assert_eq!(judge(&[round(30)]), "");
        assert!(judge(&[round(31)]).contains("3.1 times as long"));
        let of = |beyond: usize, within: usize| {
            let mut rounds: Vec<Round> = (0..beyond).map(|_| round(90)).collect();
            rounds.extend((0..within).map(|_| round(30)));
            rounds
        };
        assert!(judge(&of(10, 5)).contains("9.0 times as long"));
        assert_eq!(judge(&of(9, 6)), "");
        assert_eq!(judge(&of(1, 6)), "");
    }

    #[test]
    fn a_row_is_measured_until_no_round_can_change_the_verdict() {
        let row = row();
        let limits = row.limits_changed(&[]).unwrap();
        for outcome in 0_u32..1 << ROUNDS {
            let mut rounds = Vec::new();
            while rounds.is_empty() || !is_clear(&row, &limits, &rounds) {
                let is_beyond = outcome >> rounds.len() & 1 == 1;
                rounds.push(round(if is_beyond { 90 } else { 30 }));
            }
            assert!(rounds.len() <= ROUNDS);
            // What is said early is what would have been said after all rounds, but for a row that held
            // at once.
            let all = outcome.count_ones() as usize >= AGREE;
            let is_first_within = outcome & 1 == 0;
            assert_eq!(!faults(&row, &limits, &rounds).is_empty(), all && !is_first_within);
        }
    }

    #[test]
    fn a_guest_that_outlives_its_deadline_or_holds_too_much_is_a_fault() {
        let late = Round { overrun: Duration::from_millis(51), ..round(10) };
        assert!(judge(&[late]).contains("outlived its deadline by 51 ms"));
        // Two callers: each its memory with its tolerance, its files, and what the kernel holds for it.
        let most = 2 * (17 * (1 << 20) + (1 << 20) + (1 << 20) + KERNEL_ROOM) + NOISE;
        assert_eq!(judge(&[Round { grown: most, ..round(10) }]), "");
        let more = Round { grown: most + (1 << 20), ..round(10) };
        assert!(judge(&[more]).contains("memory grew by"));
    }

    #[test]
    fn what_goes_wrong_once_is_wrong() {
        let other = Round { ends: vec!["ok".into()], ..round(10) };
        assert!(
            judge(&[round(10), other, round(10)]).contains("it ended ok, and not limit wall_ms")
        );
        let wrong = Round { wrong: vec!["crash".into()], ..round(10) };
        assert!(judge(&[round(10), round(10), wrong]).contains("an innocent run failed: crash"));
    }

    #[test]
    fn of_a_hundred_runs_one_may_be_an_exception() {
        let mut taken: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        assert_eq!(p99(taken.clone()), Duration::from_millis(99));
        taken.truncate(99);
        assert_eq!(p99(taken), Duration::from_millis(99));
        assert_eq!(p99(vec![]), Duration::ZERO);
    }
}
