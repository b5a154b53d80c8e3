//! The gate: how many runs there are at once, who waits, and who is told to come again later.
//!
//! A run has a place from the moment it gets past the gate until its outcome is there. Who finds
//! none waits in line. The line is bounded, and tenants are served in turn, so one that asks for
//! much waits behind itself. A job that could not have its answer in time is refused at once,
//! with a hint when to try again; whoever waits is served, unless its own deadline passes.
//!
//! Each run also takes as much of a memory budget as it may come to use. One that does not fit beside
//! those that run waits in line like any other, and nobody behind it goes first: otherwise small runs
//! could keep out a large one for ever.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout_at;

use crate::error::Busy;
use crate::runner::Load;

/// How much the newest hold counts in the mean.
const NEWEST: f64 = 1.0 / 16.0;

/// How many runs there may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateConfig {
    /// Runs at once.
    pub running: usize,
    /// Runs of one tenant at once. None means that only the bound for all holds.
    pub running_per_tenant: Option<usize>,
    /// Runs that wait. One tenant alone can take half of these places, two a third each, and so
    /// on: there is always room for somebody new.
    pub waiting: usize,
    /// A job that would wait longer than this is refused.
    pub patience: Duration,
    /// The memory that all runs together may come to use, with what the engine needs for them. None
    /// means what [`Memory`](crate::Memory) says of the host.
    pub memory_bytes: Option<u64>,
}

impl Default for GateConfig {
    fn default() -> GateConfig {
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get());
        GateConfig {
            running: (8 * processors).max(16),
            running_per_tenant: None,
            waiting: 256,
            patience: Duration::from_secs(10),
            memory_bytes: None,
        }
    }
}

/// What a run takes of the memory budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// What it may come to use itself.
    pub own_bytes: u64,
    /// What the engine holds for all runs.
    pub shared_bytes: u64,
}

struct Waiter {
    number: u64,
    bytes: u64,
    turn: oneshot::Sender<()>,
}

#[derive(Default)]
struct State {
    running: usize,
    /// What those that run may come to use.
    bytes: u64,
    /// What sessions may come to use, whether anything runs in them or not.
    held: u64,
    /// What the engine held for all runs when somebody last came.
    shared_bytes: u64,
    running_by: HashMap<String, usize>,
    waiting: usize,
    /// Tenants with somebody waiting, in the order in which they are served next.
    line: VecDeque<(String, VecDeque<Waiter>)>,
    next: u64,
    /// How long a place is held, in seconds.
    mean_hold: f64,
}

pub(crate) struct Gate {
    config: GateConfig,
    state: Mutex<State>,
}

/// A place among those that run, until it is dropped.
pub(crate) struct Place {
    gate: Arc<Gate>,
    tenant: String,
    bytes: u64,
    since: Instant,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        let held = self.since.elapsed().as_secs_f64();
        state.mean_hold += (held - state.mean_hold) * NEWEST;
        self.gate.leave(&mut state, &self.tenant, self.bytes);
    }
}

/// A session's part of the budget, until it is dropped.
pub(crate) struct Held {
    gate: Arc<Gate>,
    bytes: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.gate.lock();
        state.held -= self.bytes;
        self.gate.advance(&mut state);
    }
}

/// One who waits, and leaves the line when the caller goes away or is out of time.
struct Waiting<'a> {
    gate: &'a Gate,
    tenant: &'a str,
    number: u64,
    bytes: u64,
    /// The turn has come and was taken.
    taken: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        let mut state = self.gate.lock();
        let mine = |waiter: &Waiter| waiter.number == self.number;
        let at = state.line.iter().position(|(_, waiters)| waiters.iter().any(mine));
        match at {
            Some(at) => {
                state.line[at].1.retain(|waiter| !mine(waiter));
                if state.line[at].1.is_empty() {
                    state.line.remove(at);
                }
                state.waiting -= 1;
            }
            // The turn came, and nobody was there to take it.
            None => self.gate.leave(&mut state, self.tenant, self.bytes),
        }
    }
}

impl Gate {
    pub fn new(mut config: GateConfig) -> Arc<Gate> {
        // Without a place nobody would ever be served.
        config.running = config.running.max(1);
        config.running_per_tenant = config.running_per_tenant.map(|most| most.max(1));
        Arc::new(Gate { config, state: Mutex::default() })
    }

    /// What somebody is told who ran out of time.
    pub fn busy_now(&self) -> Busy {
        self.busy(&self.lock())
    }

    /// How much is going on.
    pub fn load(&self) -> Load {
        let state = self.lock();
        let memory_bytes = state.bytes.saturating_add(state.held);
        Load {
            running: state.running,
            waiting: state.waiting,
            standing: 0,
            memory_bytes: memory_bytes.saturating_add(state.shared_bytes),
            memory_budget_bytes: self.budget(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place. `deadline` is when the answer is of no use any more.
    pub async fn enter(
        self: &Arc<Self>,
        tenant: &str,
        needs: Needs,
        deadline: Option<Instant>,
    ) -> Result<Place, Busy> {
        let bytes = needs.own_bytes;
        let (number, turn) = {
            let mut state = self.lock();
            state.shared_bytes = needs.shared_bytes;
            // Whoever could run and is still in line waits for memory, and so does who comes after.
            let is_short = state.line.iter().any(|(tenant, _)| self.may_run(&state, tenant));
            // Sessions may stand for longer than anybody waits.
            if bytes > 0 && state.held > 0 && bytes.saturating_add(state.held) > self.budget() {
                return Err(self.busy(&state));
            }
            if is_short || !self.may_run(&state, tenant) || !self.fits(&state, bytes) {
                self.check(&state, tenant, bytes, deadline)?;
            }
            let (sender, turn) = oneshot::channel();
            let number = state.next;
            state.next += 1;
            let waiter = Waiter { number, bytes, turn: sender };
            match state.line.iter_mut().find(|(name, _)| name == tenant) {
                Some((_, waiters)) => waiters.push_back(waiter),
                None => state.line.push_back((tenant.to_owned(), VecDeque::from([waiter]))),
            }
            state.waiting += 1;
            self.advance(&mut state);
            (number, turn)
        };
        let mut waiting = Waiting { gate: self, tenant, number, bytes, taken: false };
        let came = match deadline {
            None => turn.await.is_ok(),
            Some(deadline) => matches!(timeout_at(deadline.into(), turn).await, Ok(Ok(()))),
        };
        if !came {
            return Err(self.busy(&self.lock()));
        }
        waiting.taken = true;
        let tenant = tenant.to_owned();
        Ok(Place { gate: self.clone(), tenant, bytes, since: Instant::now() })
    }

    /// Takes a session's part of the budget. Sessions have half of it, or one of them has more if it is
    /// alone: the rest is for runs.
    pub fn reserve(self: &Arc<Self>, bytes: u64) -> Result<Held, Busy> {
        let mut state = self.lock();
        let all = state.held.saturating_add(bytes);
        let taken = state.bytes.saturating_add(state.shared_bytes).saturating_add(all);
        if (state.held > 0 && all > self.budget() / 2) || taken > self.budget() {
            return Err(self.busy(&state));
        }
        state.held = all;
        Ok(Held { gate: self.clone(), bytes })
    }

    fn may_run(&self, state: &State, tenant: &str) -> bool {
        let own = state.running_by.get(tenant).copied().unwrap_or(0);
        state.running < self.config.running
            && self.config.running_per_tenant.is_none_or(|most| own < most)
    }

    /// The budget, if there is one.
    fn budget(&self) -> u64 {
        self.config.memory_bytes.unwrap_or(u64::MAX)
    }

    /// Whether there is memory for it now. What runs alone is let in: that it fits was checked before, and
    /// what the engine holds may have grown since.
    fn fits(&self, state: &State, bytes: u64) -> bool {
        let taken = state.bytes.saturating_add(state.held).saturating_add(state.shared_bytes);
        let alone = state.running == 0 && state.held == 0;
        alone || bytes == 0 || taken.saturating_add(bytes) <= self.budget()
    }

    /// How many runs of this size there can be at once.
    fn at_once(&self, state: &State, bytes: u64) -> usize {
        let free = self.budget().saturating_sub(state.shared_bytes);
        let most = usize::try_from(free / bytes.max(1)).unwrap_or(usize::MAX);
        self.config.running.min(most.max(1))
    }

    /// Refuses those whose deadline would pass before their turn.
    fn check(
        &self,
        state: &State,
        tenant: &str,
        bytes: u64,
        deadline: Option<Instant>,
    ) -> Result<(), Busy> {
        let of = |name: &str| {
            let found = state.line.iter().find(|(tenant, _)| tenant == name);
            found.map_or(0, |(_, waiters)| waiters.len())
        };
        let own = of(tenant);
        let room = self.config.waiting.saturating_sub(state.waiting);
        // In turn: of every other tenant, as many are served before as this one has waiting.
        let others = state.line.iter().filter(|(name, _)| name != tenant);
        let ahead: usize =
            own + others.map(|(_, waiters)| waiters.len().min(own + 1)).sum::<usize>();
        let at_once = self.at_once(state, bytes);
        let alone = self.config.running_per_tenant.unwrap_or(at_once).min(at_once);
        let wait = self.hold(state, ahead + 1, at_once).max(self.hold(state, own + 1, alone));
        let bound = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let bound = bound.unwrap_or(self.config.patience).min(self.config.patience);
        if own >= room || wait > bound {
            return Err(self.busy(state));
        }
        Ok(())
    }

    /// How long it takes until so many places have come free.
    fn wait_for(&self, state: &State, places: usize) -> Duration {
        self.hold(state, places, self.config.running)
    }

    /// How long so many runs take, so many at once.
    fn hold(&self, state: &State, runs: usize, at_once: usize) -> Duration {
        let seconds = state.mean_hold * runs as f64 / at_once as f64;
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    fn busy(&self, state: &State) -> Busy {
        let retry_after = self.wait_for(state, state.waiting + 1).max(Duration::from_millis(1));
        Busy { waiting: state.waiting, retry_after }
    }

    /// A place comes free.
    fn leave(&self, state: &mut State, tenant: &str, bytes: u64) {
        state.running -= 1;
        state.bytes -= bytes;
        if let Some(count) = state.running_by.get_mut(tenant) {
            *count -= 1;
            if *count == 0 {
                state.running_by.remove(tenant);
            }
        }
        self.advance(state);
    }

    /// Hands out free places, one to a tenant in turn.
    fn advance(&self, state: &mut State) {
        let mut passed_over = 0;
        while passed_over < state.line.len() && state.running < self.config.running {
            let Some((tenant, mut waiters)) = state.line.pop_front() else { return };
            if !self.may_run(state, &tenant) {
                state.line.push_back((tenant, waiters));
                passed_over += 1;
                continue;
            }
            passed_over = 0;
            if waiters.front().is_some_and(|waiter| !self.fits(state, waiter.bytes)) {
                state.line.push_front((tenant, waiters));
                return;
            }
            if let Some(waiter) = waiters.pop_front() {
                state.waiting -= 1;
                state.running += 1;
                state.bytes += waiter.bytes;
                *state.running_by.entry(tenant.clone()).or_default() += 1;
                // If nobody takes it, its `Waiting` gives it back.
                waiter.turn.send(()).ok();
            }
            if !waiters.is_empty() {
                state.line.push_back((tenant, waiters));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(running: usize, waiting: usize) -> Arc<Gate> {
        let patience = Duration::from_secs(1);
        Gate::new(GateConfig { running, waiting, patience, ..GateConfig::default() })
    }

    /// How many run and how many wait.
    fn counts(gate: &Gate) -> (usize, usize) {
        let state = gate.lock();
        let in_line: usize = state.line.iter().map(|(_, waiters)| waiters.len()).sum();
        assert_eq!(state.waiting, in_line);
        (state.running, state.waiting)
    }

    async fn settled() {
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn tenants_are_served_in_turn() {
        let gate = gate(1, 64);
        let first = gate.enter("a", Needs::default(), None).await.unwrap();
        let served: Arc<Mutex<Vec<&str>>> = Arc::default();
        for tenant in ["a", "a", "a", "a", "b", "c", "b"] {
            let (gate, served) = (gate.clone(), served.clone());
            tokio::spawn(async move {
                let place = gate.enter(tenant, Needs::default(), None).await.unwrap();
                served.lock().unwrap().push(tenant);
                drop(place);
            });
        }
        settled().await;
        drop(first);
        settled().await;
        assert_eq!(*served.lock().unwrap(), ["a", "b", "c", "a", "b", "a", "a"]);
        assert_eq!(gate.lock().running, 0);
    }

    #[tokio::test]
    async fn one_tenant_takes_half_of_the_line_and_leaves_room_for_others() {
        let gate = gate(1, 8);
        let _first = gate.enter("a", Needs::default(), None).await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..4 {
            let gate = gate.clone();
            waiting.push(tokio::spawn(async move {
                gate.enter("a", Needs::default(), None).await.map(drop)
            }));
        }
        settled().await;
        let refused = gate.enter("a", Needs::default(), None).await.map(drop).unwrap_err();
        assert_eq!(refused.waiting, 4);
        let other = gate.clone();
        waiting.push(tokio::spawn(async move {
            other.enter("b", Needs::default(), None).await.map(drop)
        }));
        settled().await;
        assert_eq!(gate.lock().waiting, 5);
        waiting.iter().for_each(tokio::task::JoinHandle::abort);
        settled().await;
        assert_eq!(counts(&gate), (1, 0));
    }

    #[tokio::test]
    async fn who_would_be_late_is_refused_at_once() {
        let gate = gate(1, 64);
        gate.lock().mean_hold = 0.2;
        let _held = gate.enter("a", Needs::default(), None).await.unwrap();
        let soon = Instant::now() + Duration::from_millis(100);
        let asked = Instant::now();
        let refused = gate.enter("a", Needs::default(), Some(soon)).await.map(drop).unwrap_err();
        assert!(asked.elapsed() < Duration::from_millis(20));
        assert!(refused.retry_after >= Duration::from_millis(199), "{refused:?}");
        gate.lock().mean_hold = 2.0;
        assert!(
            gate.enter("a", Needs::default(), None).await.is_err(),
            "longer than anybody should wait"
        );
    }

    #[tokio::test]
    async fn a_deadline_that_passes_in_line_ends_the_wait() {
        let gate = gate(1, 64);
        let held = gate.enter("a", Needs::default(), None).await.unwrap();
        let soon = Instant::now() + Duration::from_millis(20);
        assert!(gate.enter("a", Needs::default(), Some(soon)).await.is_err());
        drop(held);
        assert_eq!(counts(&gate), (0, 0));
        drop(gate.enter("a", Needs::default(), None).await.unwrap());
    }

    #[tokio::test]
    async fn a_turn_that_nobody_takes_goes_to_the_next() {
        let gate = gate(1, 64);
        let held = gate.enter("a", Needs::default(), None).await.unwrap();
        let mut gone = Box::pin(gate.enter("a", Needs::default(), None));
        assert!(is_pending(&mut gone).await);
        let next = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter("a", Needs::default(), None).await.map(drop) }
        });
        settled().await;
        // The turn is given to the first, which goes away before it looks.
        drop(held);
        drop(gone);
        next.await.unwrap().unwrap();
        assert_eq!(gate.lock().running, 0);
    }

    /// Polls once; whether it is still pending.
    async fn is_pending<F: Future + Unpin>(future: &mut F) -> bool {
        std::future::poll_fn(|context| {
            let pending = std::pin::Pin::new(&mut *future).poll(context).is_pending();
            std::task::Poll::Ready(pending)
        })
        .await
    }

    #[tokio::test]
    async fn a_tenant_at_its_own_bound_does_not_hold_up_others() {
        let gate = Gate::new(GateConfig { running_per_tenant: Some(1), ..GateConfig::default() });
        let held = gate.enter("a", Needs::default(), None).await.unwrap();
        let second = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter("a", Needs::default(), None).await.map(drop) }
        });
        settled().await;
        drop(gate.enter("b", Needs::default(), None).await.unwrap());
        assert_eq!(gate.lock().waiting, 1);
        drop(held);
        second.await.unwrap().unwrap();
    }

    /// A gate with room for ten bytes, and what a run of so many takes.
    fn small() -> Arc<Gate> {
        Gate::new(GateConfig { memory_bytes: Some(10), ..GateConfig::default() })
    }

    fn bytes(own_bytes: u64) -> Needs {
        Needs { own_bytes, shared_bytes: 0 }
    }

    #[tokio::test]
    async fn runs_wait_for_memory_and_nobody_overtakes_who_waits_longest() {
        let gate = small();
        let first = gate.enter("a", bytes(6), None).await.unwrap();
        let served: Arc<Mutex<Vec<u64>>> = Arc::default();
        // Eight do not fit beside six. One would, and comes later.
        for (tenant, size) in [("a", 8), ("a", 1), ("b", 2)] {
            let (gate, served) = (gate.clone(), served.clone());
            tokio::spawn(async move {
                let place = gate.enter(tenant, bytes(size), None).await.unwrap();
                served.lock().unwrap().push(size);
                drop(place);
            });
            settled().await;
        }
        assert_eq!(counts(&gate), (1, 3));
        drop(first);
        settled().await;
        assert_eq!(*served.lock().unwrap(), [8, 2, 1]);
        assert_eq!((counts(&gate), gate.lock().bytes), ((0, 0), 0));
    }

    #[tokio::test]
    async fn what_the_engine_holds_for_all_counts_and_one_alone_always_runs() {
        let gate = small();
        let held = Needs { own_bytes: 4, shared_bytes: 3 };
        let first = gate.enter("a", held, None).await.unwrap();
        let mut second = Box::pin(gate.enter("a", held, None));
        assert!(is_pending(&mut second).await, "four, four and three are more than ten");
        drop(first);
        let second = second.await.unwrap();
        drop(second);
        let large = Needs { own_bytes: 9, shared_bytes: 3 };
        drop(gate.enter("a", large, None).await.unwrap());
    }

    #[tokio::test]
    async fn who_would_be_late_for_want_of_memory_is_refused_at_once() {
        let gate = small();
        gate.lock().mean_hold = 6.0;
        let _held = gate.enter("a", bytes(6), None).await.unwrap();
        let waits = tokio::spawn({
            let gate = gate.clone();
            async move { gate.enter("a", bytes(6), None).await.map(drop) }
        });
        settled().await;
        // By number there is room for many; by memory one runs at a time.
        assert!(gate.enter("a", bytes(6), None).await.is_err());
        waits.abort();
    }

    #[tokio::test]
    async fn sessions_leave_room_for_runs() {
        let gate = Gate::new(GateConfig { memory_bytes: Some(100), ..GateConfig::default() });
        let needs = |own_bytes| Needs { own_bytes, shared_bytes: 0 };
        let one = gate.reserve(30).unwrap();
        let two = gate.reserve(20).unwrap();
        assert!(gate.reserve(1).is_err());
        // A run in a session needs a place and no memory of its own.
        let within = gate.enter("", needs(0), None).await.unwrap();
        let beside = gate.enter("", needs(50), None).await.unwrap();
        // What does not fit while they stand is told so at once.
        assert!(gate.enter("", needs(51), None).await.is_err());
        drop((one, two, within, beside));
        let alone = gate.reserve(80).unwrap();
        assert!(gate.reserve(1).is_err() && gate.reserve(21).is_err());
        drop(alone);
        drop(gate.enter("", needs(90), None).await.unwrap());
    }
}
