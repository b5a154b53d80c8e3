//! One tenant: what it may still begin, and its runs, those under way and those that ended a short time ago.
//!
//! Everything is kept by tenant, so a run of another cannot be found, and one that asks for much pushes out only
//! what is its own.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use carboy_protocol::Policy;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::bucket::Bucket;
use super::config::TenantConfig;
use super::known::{End, First, Known, Stop, Taken};
use super::leased::Leased;
use super::part::Part;
use super::problem::Problem;
use super::shares::Share;

/// How many ended runs are remembered, how many bytes of them, and for how long.
const RECENT: usize = 256;
const RECENT_BYTES: usize = 16 << 20;
const RECENT_TIME: Duration = Duration::from_secs(600);

/// How many sources of one tenant are checked at once, or wait for that.
const CHECKS: usize = 4;

/// A run under way.
struct Begun {
    stop: watch::Sender<Option<Stop>>,
    since: Instant,
    /// What its answers take: a run may have them for as long as it likes.
    answers: Option<Share>,
    /// Calls that its client was told of and has not answered.
    calls: HashSet<u64>,
}

struct Recent {
    id: String,
    /// Under which it is found by whoever sends its request again.
    key: Option<String>,
    end: End,
    since: Instant,
}

impl Recent {
    fn bytes(&self) -> usize {
        match &self.end {
            End::Outcome(body) => body.len(),
            End::Failed(problem) => problem.bytes(),
            End::Abandoned => 0,
        }
    }
}

struct State {
    /// No run is taken any more.
    is_ending: bool,
    under_way: HashMap<String, Begun>,
    /// Runs that may be asked for again, by the key that their client chose: those under way and those that are
    /// remembered.
    keys: HashMap<String, (String, [u8; 32])>,
    /// Keys that shall have no run, the newest first.
    ended_keys: VecDeque<(String, Instant)>,
    recent: VecDeque<Recent>,
    recent_bytes: usize,
    starts: Option<Bucket>,
    /// Seconds of processor time. Runs are counted when they are over, so it can be below nothing.
    cpu: Option<Bucket>,
}

/// A tenant.
pub(super) struct Tenant {
    /// Its place among all tenants.
    pub number: usize,
    pub name: String,
    pub ceiling: Policy,
    pub runs_at_once: usize,
    pub sessions_at_once: usize,
    /// What of its quota this server may give out, and what it was asked for.
    pub part: Part,
    /// Whether its runs and sessions at once are counted exactly over all gateways, and what is leased of them.
    pub is_exact: bool,
    pub leased: Leased,
    /// Places for sources to be checked.
    checks: Arc<Semaphore>,
    state: Mutex<State>,
}

impl Tenant {
    pub fn new(number: usize, name: String, config: &TenantConfig) -> Tenant {
        let starts =
            config.runs_per_second.map(|rate| Bucket::new(rate, f64::from(config.burst).max(1.0)));
        let cpu = config.cpu_seconds_per_minute.map(|seconds| Bucket::new(seconds / 60.0, seconds));
        Tenant {
            number,
            name,
            ceiling: config.ceiling.clone(),
            runs_at_once: config.runs_at_once,
            sessions_at_once: config.sessions_at_once,
            part: Part::default(),
            is_exact: config.exact,
            leased: Leased::default(),
            checks: Arc::new(Semaphore::new(CHECKS)),
            state: Mutex::new(State {
                is_ending: false,
                under_way: HashMap::new(),
                keys: HashMap::new(),
                ended_keys: VecDeque::new(),
                recent: VecDeque::new(),
                recent_bytes: 0,
                starts,
                cpu,
            }),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a place among the tenant's runs, under this id.
    pub fn admit(self: &Arc<Self>, id: String, now: Instant) -> Result<Ticket, Problem> {
        let mut state = self.lock();
        let refused = |detail: String| {
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail).hint(
                "wait as long as Retry-After says; the operator sets the quota of each tenant",
            )
        };
        if state.is_ending {
            return Err(Problem::ending());
        }
        self.part.ask();
        let most = self.most_runs();
        if state.under_way.len() >= most {
            let are = if most == 1 { "run is" } else { "runs are" };
            let detail = format!("{most} {are} under way, as many as this tenant may have");
            return Err(refused(detail).again_in(Duration::from_secs(1)));
        }
        if let Some(cpu) = &mut state.cpu {
            cpu.fill(now, self.part.share());
            if cpu.level <= 0.0 {
                let wait = cpu.wait_for(0.01);
                return Err(refused("the tenant's processor time is used up".into()).again_in(wait));
            }
        }
        if let Some(starts) = &mut state.starts {
            starts.fill(now, self.part.share());
            if starts.level < 1.0 {
                let wait = starts.wait_for(1.0);
                return Err(
                    refused("the tenant begins runs faster than it may".into()).again_in(wait)
                );
            }
            starts.level -= 1.0;
        }
        let (stop, stopped) = watch::channel(None);
        state
            .under_way
            .insert(id.clone(), Begun { stop, since: now, answers: None, calls: HashSet::new() });
        Ok(Ticket { tenant: self.clone(), id, key: None, stopped, end: Some(End::Abandoned) })
    }

    /// The run that a client's key belongs to.
    pub fn first(&self, key: &str) -> Option<First> {
        self.lock().first(key)
    }

    /// The run of a key, for whoever wants to end it. If there is none, the request may still be on its way: no run
    /// gets this key for a while.
    pub fn end_key(&self, key: &str) -> Option<String> {
        let (mut state, now) = (self.lock(), Instant::now());
        state.forget(now);
        if let Some((id, _)) = state.keys.get(key) {
            return Some(id.clone());
        }
        // No more than are remembered of runs.
        state.ended_keys.truncate(RECENT - 1);
        state.ended_keys.push_front((key.to_owned(), now));
        None
    }

    /// Tells a run to end, also one whose body is still coming.
    pub fn stop(&self, id: &str) {
        if let Some(begun) = self.lock().under_way.get(id) {
            begun.stop.send_replace(Some(Stop::Cancelled));
        }
    }

    /// Tells every run to end, and takes no more. The ids of those that are under way.
    pub fn stop_all(&self) -> Vec<String> {
        let mut state = self.lock();
        state.is_ending = true;
        for begun in state.under_way.values() {
            begun.stop.send_replace(Some(Stop::Ending));
        }
        state.under_way.keys().cloned().collect()
    }

    /// A place for a source to be checked, until it is dropped.
    pub fn check_place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.checks.clone().try_acquire_owned().map_err(|_none| {
            let detail = format!("{CHECKS} sources are checked, as many as this tenant may have");
            Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
                .again_in(Duration::from_secs(1))
        })
    }

    /// What is known of the run with this id.
    pub fn known(&self, id: &str) -> Option<Known> {
        let mut state = self.lock();
        if let Some(begun) = state.under_way.get(id) {
            return Some(Known::UnderWay(begun.since.elapsed()));
        }
        state.forget(Instant::now());
        let recent = state.recent.iter().find(|recent| recent.id == id)?;
        Some(Known::Ended(recent.end.clone()))
    }

    /// Runs under way, each with how long it has been, and the ids of those that ended, the last first.
    pub fn runs(&self) -> (Vec<(String, Duration)>, Vec<String>) {
        let mut state = self.lock();
        state.forget(Instant::now());
        let under_way =
            state.under_way.iter().map(|(id, begun)| (id.clone(), begun.since.elapsed()));
        let mut under_way: Vec<_> = under_way.collect();
        under_way.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        (under_way, state.recent.iter().rev().map(|recent| recent.id.clone()).collect())
    }

    /// Notes that the client of a run is told of a call.
    pub fn called(&self, id: &str, call: u64) {
        if let Some(begun) = self.lock().under_way.get_mut(id) {
            begun.calls.insert(call);
        }
    }

    /// Takes an answer to a call. Whether the run waits for it; `None` if there is no such run.
    pub fn answers(&self, id: &str, call: u64, room: Share) -> Option<bool> {
        let waits = self.lock().under_way.get_mut(id)?.calls.remove(&call);
        if waits { self.answered(id, room).then_some(true) } else { Some(false) }
    }

    /// Notes that an answer was handed to a run. Whether it is under way.
    pub fn answered(&self, id: &str, room: Share) -> bool {
        let mut state = self.lock();
        let begun = state.under_way.get_mut(id);
        let Some(begun) = begun else { return false };
        match &mut begun.answers {
            Some(answers) => answers.merge(room),
            none => *none = Some(room),
        }
        true
    }

    /// How many runs are under way.
    pub fn under_way(&self) -> usize {
        self.lock().under_way.len()
    }

    /// Seconds of processor time that it may use now, if it has such a quota.
    pub fn cpu_left(&self) -> Option<f64> {
        let mut state = self.lock();
        let cpu = state.cpu.as_mut()?;
        cpu.fill(Instant::now(), self.part.share());
        Some(cpu.level)
    }

    /// Counts processor time that a run has used.
    pub fn used_cpu(&self, seconds: f64) {
        if let Some(cpu) = &mut self.lock().cpu {
            cpu.fill(Instant::now(), self.part.share());
            cpu.level -= seconds;
        }
    }
}

impl State {
    fn first(&self, key: &str) -> Option<First> {
        let (id, digest) = self.keys.get(key)?;
        let under_way = self.under_way.get(id).map(|begun| begun.stop.subscribe());
        Some(First { id: id.clone(), digest: *digest, under_way })
    }

    /// Forgets what ended long ago, and the oldest of what is too much.
    fn forget(&mut self, now: Instant) {
        self.ended_keys.retain(|(_, since)| now.saturating_duration_since(*since) <= RECENT_TIME);
        while self.recent.front().is_some_and(|oldest| {
            self.recent.len() > RECENT
                // The last one can be asked for again, however long it is.
                || (self.recent_bytes > RECENT_BYTES && self.recent.len() > 1)
                || now.saturating_duration_since(oldest.since) > RECENT_TIME
        }) {
            if let Some(oldest) = self.recent.pop_front() {
                self.recent_bytes -= oldest.bytes();
                if let Some(key) = oldest.key {
                    self.keys.remove(&key);
                }
            }
        }
    }
}

/// A place among a tenant's runs. Dropping it without an end means that the caller is gone.
pub(super) struct Ticket {
    tenant: Arc<Tenant>,
    id: String,
    key: Option<String>,
    stopped: watch::Receiver<Option<Stop>>,
    /// `None` if there never was a run.
    end: Option<End>,
}

impl Ticket {
    pub fn tenant(&self) -> &Arc<Tenant> {
        &self.tenant
    }

    pub fn id(&self) -> &String {
        &self.id
    }

    /// Takes a key that the client chose, unless it belongs to another run.
    pub fn take_key(&mut self, key: &str, digest: [u8; 32]) -> Result<(), Taken> {
        let mut state = self.tenant.lock();
        if let Some(first) = state.first(key) {
            return Err(Taken::By(first));
        }
        if state.ended_keys.iter().any(|(ended, _)| ended == key) {
            return Err(Taken::Ended);
        }
        state.keys.insert(key.to_owned(), (self.id.clone(), digest));
        self.key = Some(key.to_owned());
        Ok(())
    }

    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// Gives the key back: nothing was run, and it may be tried again.
    pub fn give_key_back(&mut self) {
        if let Some(key) = self.key.take() {
            self.tenant.lock().keys.remove(&key);
        }
    }

    /// There is no such run, and never was. What was asked for counts all the same.
    pub fn withdraw(mut self) {
        self.end = None;
    }

    /// The same where nothing was asked for that counts: its client has to send it again.
    pub fn undo(self) {
        if let Some(starts) = &mut self.tenant.lock().starts {
            starts.give_back(1.0);
        }
        self.withdraw();
    }

    /// Why it was told to end, if it was.
    pub fn stop(&self) -> Option<Stop> {
        *self.stopped.borrow()
    }

    /// Waits until it is told to end.
    pub async fn stopped(&self) -> Stop {
        let mut stopped = self.stopped.clone();
        match stopped.wait_for(Option::is_some).await.map(|stop| *stop) {
            Ok(Some(stop)) => stop,
            // The other end lives as long as this ticket.
            _ => std::future::pending().await,
        }
    }

    /// The run is over.
    pub fn end(mut self, end: End) {
        self.end = Some(end);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut state = self.tenant.lock();
        let begun = state.under_way.remove(&self.id);
        let Some(end) = self.end.take() else { return };
        let now = Instant::now();
        let (id, key) = (std::mem::take(&mut self.id), self.key.take());
        let recent = Recent { id, key, end, since: now };
        state.recent_bytes += recent.bytes();
        state.recent.push_back(recent);
        state.forget(now);
        // Whoever waits for its end finds it.
        drop(state);
        drop(begun);
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Bytes;

    use super::*;

    fn tenant(config: TenantConfig) -> Arc<Tenant> {
        Arc::new(Tenant::new(0, "a".into(), &config))
    }

    #[test]
    fn a_server_that_shares_a_quota_gives_out_its_part() {
        let tenant = tenant(TenantConfig { runs_at_once: 4, ..TenantConfig::default() });
        tenant.part.set(0.5);
        let now = Instant::now();
        let _held: Vec<_> =
            ["a", "b"].map(|id| tenant.admit(id.into(), now).expect("a place")).into();
        let refused = tenant.admit("c".into(), now).err().expect("it is refused");
        assert_eq!(refused.code, "quota");
        assert_eq!(tenant.part.asked(), 3, "what is refused is wanted too");
        tenant.part.set(1.0);
        assert!(tenant.admit("c".into(), now).is_ok());
    }

    #[test]
    fn a_tenant_has_so_many_runs_at_once() {
        let tenant = tenant(TenantConfig { runs_at_once: 2, ..TenantConfig::default() });
        let now = Instant::now();
        let first = tenant.admit("1".into(), now).expect("a place");
        let _second = tenant.admit("2".into(), now).expect("a place");
        assert_eq!(tenant.admit("3".into(), now).err().map(|problem| problem.code), Some("quota"));
        first.end(End::Outcome(Bytes::from_static(b"{}")));
        assert!(tenant.admit("3".into(), now).is_ok());
        assert!(matches!(tenant.known("1"), Some(Known::Ended(End::Outcome(_)))));
        assert!(matches!(tenant.known("2"), Some(Known::UnderWay(_))));
        assert!(matches!(tenant.known("3"), Some(Known::Ended(End::Abandoned))));
        assert!(tenant.known("4").is_none());
    }

    #[test]
    fn a_rate_is_kept_in_the_long_run() {
        let config =
            TenantConfig { runs_per_second: Some(10.0), burst: 3, ..TenantConfig::default() };
        let tenant = tenant(config);
        let start = Instant::now();
        let admitted =
            |at_ms| tenant.admit("x".into(), start + Duration::from_millis(at_ms)).is_ok();
        assert_eq!([admitted(0), admitted(0), admitted(0), admitted(0)], [true, true, true, false]);
        assert_eq!([admitted(110), admitted(110)], [true, false]);
        assert_eq!((0..50).filter(|step| admitted(1000 + step * 20)).count(), 12);
    }

    #[test]
    fn a_run_that_has_to_be_sent_again_uses_up_no_start() {
        let config =
            TenantConfig { runs_per_second: Some(0.01), burst: 1, ..TenantConfig::default() };
        let tenant = tenant(config);
        let now = Instant::now();
        for _ in 0..3 {
            tenant.admit("x".into(), now).expect("a place").undo();
        }
        tenant.admit("x".into(), now).expect("a place").withdraw();
        assert!(tenant.admit("x".into(), now).is_err() && tenant.known("x").is_none());
    }

    #[test]
    fn processor_time_that_was_used_is_waited_for() {
        let config = TenantConfig { cpu_seconds_per_minute: Some(6.0), ..TenantConfig::default() };
        let tenant = tenant(config);
        let now = Instant::now();
        assert!(tenant.admit("x".into(), now).is_ok());
        tenant.used_cpu(7.0);
        let later = now + Duration::from_secs(5);
        assert_eq!(
            tenant.admit("x".into(), later).err().map(|problem| problem.code),
            Some("quota")
        );
        assert!(tenant.admit("x".into(), now + Duration::from_secs(60)).is_ok());
    }

    #[test]
    fn what_ended_is_remembered_within_bounds() {
        let tenant = tenant(TenantConfig::default());
        let now = Instant::now();
        for number in 0..RECENT + 10 {
            tenant.admit(number.to_string(), now).expect("a place").end(End::Abandoned);
        }
        assert!(tenant.known("9").is_none() && tenant.known("10").is_some());
        let large = Bytes::from(vec![b' '; RECENT_BYTES]);
        tenant.admit("large".into(), now).expect("a place").end(End::Outcome(large));
        assert_eq!(tenant.runs().1.first().map(String::as_str), Some("large"));
        tenant.admit("next".into(), now).expect("a place").end(End::Failed(Problem::engine()));
        assert!(tenant.known("large").is_none() && tenant.known("next").is_some());
    }
}
