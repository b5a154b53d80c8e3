//! The gate: how many runs there are at once, who waits, and who is told to come again later.
//!
//! A run has a place from the moment it gets past the gate until its outcome is there. Who finds
//! none waits in line. The line is bounded, and tenants are served in turn, so one that asks for
//! much waits behind itself. A job that could not have its answer in time is refused at once,
//! with a hint when to try again; whoever waits is served, unless its own deadline passes.
//!
//! Each run also takes as much of a memory budget as it may come to use. One that does not fit beside
//! those that run waits in line like any other, and nobody behind it who needs memory goes first:
//! otherwise small runs could keep out a large one for ever.
//!
//! A session takes its part of the budget when it is opened. A run in it needs a place and no memory, so it
//! does not wait for memory with others. Sessions may stand for longer than anybody waits, so nobody gets
//! in line who would wait for one to end, and no session is let in that would keep out who is in line.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::timeout_at;

pub use crate::admit::config::GateConfig;
use crate::error::{Busy, Short};
use crate::runner::Load;

/// How much the newest hold counts in the mean.
const NEWEST: f64 = 1.0 / 16.0;

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

/// A tenant of whom somebody waits.
struct Tenant {
    name: String,
    waiters: VecDeque<Waiter>,
    /// A number from when it got in line, or was last given a place while others waited for memory.
    since: u64,
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
    line: VecDeque<Tenant>,
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
        let at = state.line.iter().position(|tenant| tenant.waiters.iter().any(mine));
        match at {
            Some(at) => {
                state.line[at].waiters.retain(|waiter| !mine(waiter));
                if state.line[at].waiters.is_empty() {
                    state.line.remove(at);
                }
                state.waiting -= 1;
                // Others may have waited behind it for memory that they do not need.
                self.gate.advance(&mut state);
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
    pub fn late(&self) -> Busy {
        self.busy(&self.lock(), Short::Time)
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
            if bytes > 0 {
                state.shared_bytes = needs.shared_bytes;
            }
            // Whoever could run and is still in line waits for memory, and so does who comes after and
            // needs some.
            let is_short =
                bytes > 0 && state.line.iter().any(|tenant| self.may_run(&state, &tenant.name));
            if self.is_kept_out(&state, bytes, state.held) {
                return Err(self.busy(&state, Short::Memory));
            }
            if is_short || !self.may_run(&state, tenant) || !self.fits(&state, bytes) {
                self.check(&state, tenant, bytes, deadline)?;
            }
            let (sender, turn) = oneshot::channel();
            let number = state.next;
            state.next += 1;
            let waiter = Waiter { number, bytes, turn: sender };
            match state.line.iter_mut().find(|waiting| waiting.name == tenant) {
                Some(waiting) => waiting.waiters.push_back(waiter),
                None => {
                    let waiters = VecDeque::from([waiter]);
                    state.line.push_back(Tenant {
                        name: tenant.to_owned(),
                        waiters,
                        since: number,
                    });
                }
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
            return Err(self.late());
        }
        waiting.taken = true;
        let tenant = tenant.to_owned();
        Ok(Place { gate: self.clone(), tenant, bytes, since: Instant::now() })
    }

    /// Takes a session's part of the budget. Sessions have half of it, or one of them has more if it is
    /// alone: the rest is for runs.
    pub fn reserve(self: &Arc<Self>, needs: Needs) -> Result<Held, Busy> {
        let bytes = needs.own_bytes;
        let mut state = self.lock();
        state.shared_bytes = needs.shared_bytes;
        let all = state.held.saturating_add(bytes);
        let taken = state.bytes.saturating_add(state.shared_bytes).saturating_add(all);
        let mut in_line = state.line.iter().flat_map(|tenant| &tenant.waiters);
        let keeps_out = in_line.any(|waiter| self.is_kept_out(&state, waiter.bytes, all));
        if (state.held > 0 && all > self.budget() / 2) || taken > self.budget() || keeps_out {
            return Err(self.busy(&state, Short::Memory));
        }
        state.held = all;
        Ok(Held { gate: self.clone(), bytes })
    }

    fn may_run(&self, state: &State, tenant: &str) -> bool {
        state.running < self.config.running && self.own_places(state, tenant) > 0
    }

    /// How many more runs of this tenant there may be, by its own bound.
    fn own_places(&self, state: &State, tenant: &str) -> usize {
        let own = state.running_by.get(tenant).copied().unwrap_or(0);
        self.config.running_per_tenant.unwrap_or(usize::MAX).saturating_sub(own)
    }

    /// The budget, if there is one.
    fn budget(&self) -> u64 {
        self.config.memory_bytes.unwrap_or(u64::MAX)
    }

    /// Whether there is memory for it now. What is alone with sessions is let in: that it fits beside them
    /// was checked before, and what the engine holds may have grown since.
    fn fits(&self, state: &State, bytes: u64) -> bool {
        let taken = state.bytes.saturating_add(state.held).saturating_add(state.shared_bytes);
        state.bytes == 0 || bytes == 0 || taken.saturating_add(bytes) <= self.budget()
    }

    /// Whether it does not fit for as long as sessions hold so much, even when nothing else runs.
    fn is_kept_out(&self, state: &State, bytes: u64, held: u64) -> bool {
        let together = bytes.saturating_add(held).saturating_add(state.shared_bytes);
        bytes > 0 && held > 0 && together > self.budget()
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
            let found = state.line.iter().find(|tenant| tenant.name == name);
            found.map_or(0, |tenant| tenant.waiters.len())
        };
        let own = of(tenant);
        let room = self.config.waiting.saturating_sub(state.waiting);
        // In turn: of every other tenant, as many are served before as this one has waiting.
        let others = state.line.iter().filter(|other| other.name != tenant);
        let ahead: usize =
            own + others.map(|other| other.waiters.len().min(own + 1)).sum::<usize>();
        let at_once = self.at_once(state, bytes);
        let alone = self.config.running_per_tenant.unwrap_or(at_once).min(at_once);
        let wait = self.hold(state, ahead + 1, at_once).max(self.hold(state, own + 1, alone));
        let bound = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let bound = bound.unwrap_or(self.config.patience).min(self.config.patience);
        if own < room && wait <= bound {
            return Ok(());
        }
        let has_time = own >= room || wait > self.config.patience;
        Err(self.busy(state, if has_time { Short::Places } else { Short::Time }))
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

    fn busy(&self, state: &State, short: Short) -> Busy {
        let retry_after = self.wait_for(state, state.waiting + 1).max(Duration::from_millis(1));
        Busy { short, waiting: state.waiting, retry_after }
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

    /// Hands out free places, one to a tenant in turn. A tenant that has as many as it may keeps its turn.
    fn advance(&self, state: &mut State) {
        loop {
            let next = state.line.iter().position(|tenant| self.may_run(state, &tenant.name));
            let Some(at) = next else { return };
            let first = state.line[at].waiters.front();
            if first.is_some_and(|waiter| !self.fits(state, waiter.bytes)) {
                return self.advance_without_memory(state, at);
            }
            let Some(mut tenant) = state.line.remove(at) else { return };
            if let Some(waiter) = tenant.waiters.pop_front() {
                Gate::start(state, &tenant.name, waiter);
            }
            if !tenant.waiters.is_empty() {
                state.line.push_back(tenant);
            }
        }
    }

    /// Hands out free places to those that need no memory, while the first of the tenant at `short` waits
    /// for it. One place of that tenant's own is kept for it: otherwise those behind it could keep it out.
    fn advance_without_memory(&self, state: &mut State, short: usize) {
        let short = state.line[short].name.clone();
        loop {
            let has_room = state.running < self.config.running;
            let found = state.line.iter().enumerate().filter_map(|(at, tenant)| {
                let kept = usize::from(tenant.name == short);
                if !has_room || self.own_places(state, &tenant.name) <= kept {
                    return None;
                }
                let place = tenant.waiters.iter().position(|waiter| waiter.bytes == 0)?;
                Some((tenant.since, at, place))
            });
            let Some((_, at, place)) = found.min() else { return };
            let since = state.next;
            state.next += 1;
            let tenant = &mut state.line[at];
            tenant.since = since;
            let (name, waiter) = (tenant.name.clone(), tenant.waiters.remove(place));
            if tenant.waiters.is_empty() {
                state.line.remove(at);
            }
            if let Some(waiter) = waiter {
                Gate::start(state, &name, waiter);
            }
        }
    }

    /// Gives a place to one who waited, and is in line no more.
    fn start(state: &mut State, tenant: &str, waiter: Waiter) {
        state.waiting -= 1;
        state.running += 1;
        state.bytes += waiter.bytes;
        *state.running_by.entry(tenant.to_owned()).or_default() += 1;
        // If nobody takes it, its `Waiting` gives it back.
        waiter.turn.send(()).ok();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    fn gate(running: usize, waiting: usize) -> Arc<Gate> {
        let patience = Duration::from_secs(1);
        Gate::new(GateConfig { running, waiting, patience, ..GateConfig::default() })
    }

    /// How many run and how many wait.
    fn counts(gate: &Gate) -> (usize, usize) {
        let state = gate.lock();
        let in_line: usize = state.line.iter().map(|tenant| tenant.waiters.len()).sum();
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
        let mut asking = pin!(gate.enter("a", Needs::default(), Some(soon)));
        let answer = std::future::poll_fn(|context| Poll::Ready(asking.as_mut().poll(context)));
        let Poll::Ready(Err(refused)) = answer.await else { panic!("it waits") };
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
    async fn who_is_refused_hears_what_there_is_too_little_of() {
        let gate = Gate::new(GateConfig { running: 1, waiting: 1, ..GateConfig::default() });
        let short = |refused: Result<Place, Busy>| refused.err().map(|busy| busy.short);
        let held = gate.enter("a", Needs::default(), None).await.unwrap();
        let past = Some(Instant::now());
        assert_eq!(short(gate.enter("a", Needs::default(), past).await), Some(Short::Time));
        gate.lock().mean_hold = 5.0;
        let soon = Some(Instant::now() + Duration::from_secs(1));
        assert_eq!(short(gate.enter("a", Needs::default(), soon).await), Some(Short::Time));
        gate.lock().mean_hold = 500.0;
        assert_eq!(short(gate.enter("a", Needs::default(), None).await), Some(Short::Places));
        gate.lock().mean_hold = 0.0;
        let mut waits = Box::pin(gate.enter("a", Needs::default(), None));
        assert!(is_pending(&mut waits).await);
        let busy = gate.enter("a", Needs::default(), soon).await.err().unwrap();
        assert_eq!((busy.short, busy.waiting), (Short::Places, 1));
        assert_eq!(busy.to_string(), "too many runs: 1 is waiting already");
        drop((held, waits));
        let gate = small();
        let _session = gate.reserve(bytes(5)).unwrap();
        assert_eq!(short(gate.enter("a", bytes(6), None).await), Some(Short::Memory));
    }

    #[tokio::test]
    async fn sessions_leave_room_for_runs() {
        let gate = Gate::new(GateConfig { memory_bytes: Some(100), ..GateConfig::default() });
        let needs = |own_bytes| Needs { own_bytes, shared_bytes: 0 };
        let one = gate.reserve(needs(30)).unwrap();
        let two = gate.reserve(needs(20)).unwrap();
        assert!(gate.reserve(needs(1)).is_err());
        // A run in a session needs a place and no memory of its own.
        let within = gate.enter("", needs(0), None).await.unwrap();
        let beside = gate.enter("", needs(50), None).await.unwrap();
        // What does not fit while they stand is told so at once.
        assert!(gate.enter("", needs(51), None).await.is_err());
        drop((one, two, within, beside));
        let alone = gate.reserve(needs(80)).unwrap();
        assert!(gate.reserve(needs(1)).is_err() && gate.reserve(needs(21)).is_err());
        drop(alone);
        drop(gate.enter("", needs(90), None).await.unwrap());
    }

    #[tokio::test]
    async fn what_the_engine_holds_counts_beside_sessions() {
        let gate = small();
        let needs = |own_bytes| Needs { own_bytes, shared_bytes: 3 };
        let session = gate.reserve(needs(4)).unwrap();
        // A run in a session does not know of it, and says nothing about it.
        drop(gate.enter("", Needs::default(), None).await.unwrap());
        // Four, four and three are more than ten for as long as the session stands.
        assert!(gate.enter("", needs(4), None).await.is_err());
        drop(gate.enter("", needs(3), None).await.unwrap());
        assert!(gate.reserve(needs(1)).is_ok() && gate.reserve(needs(2)).is_err());
        drop(session);
        drop(gate.enter("", needs(4), None).await.unwrap());
    }

    #[tokio::test]
    async fn no_session_comes_that_keeps_out_who_waits() {
        let gate = small();
        let first = gate.enter("a", bytes(4), None).await.unwrap();
        let mut large = Box::pin(gate.enter("a", bytes(8), None));
        assert!(is_pending(&mut large).await);
        assert!(gate.reserve(bytes(3)).is_err());
        let session = gate.reserve(bytes(2)).unwrap();
        // Who needs no memory does not wait with those who do, of the same tenant or of another.
        let within = gate.enter("a", bytes(0), None).await.unwrap();
        let other = gate.enter("b", bytes(0), None).await.unwrap();
        assert_eq!(counts(&gate), (3, 1));
        let mut small = Box::pin(gate.enter("b", bytes(1), None));
        assert!(is_pending(&mut small).await, "it would overtake who waits longer");
        // What the engine holds has grown: who is in line is let in all the same, when it is alone.
        gate.lock().shared_bytes = 1;
        drop(first);
        drop(large.await.unwrap());
        drop((small.await.unwrap(), within, other, session));
        assert_eq!(counts(&gate), (0, 0));
        let state = gate.lock();
        assert_eq!((state.bytes, state.held), (0, 0));
    }

    #[tokio::test]
    async fn who_leaves_the_line_lets_those_behind_it_pass() {
        let gate = small();
        let _first = gate.enter("a", bytes(4), None).await.unwrap();
        let mut large = Box::pin(gate.enter("a", bytes(8), None));
        let mut small = Box::pin(gate.enter("b", bytes(1), None));
        assert!(is_pending(&mut large).await && is_pending(&mut small).await);
        drop(large);
        drop(small.await.unwrap());
    }

    #[tokio::test]
    async fn one_who_waits_for_memory_is_not_kept_out_by_sessions_of_its_tenant() {
        let config = GateConfig {
            running_per_tenant: Some(2),
            memory_bytes: Some(10),
            ..GateConfig::default()
        };
        let gate = Gate::new(config);
        let other = gate.enter("b", bytes(6), None).await.unwrap();
        let mut within = VecDeque::from([gate.enter("a", bytes(0), None).await.unwrap()]);
        let mut large = Box::pin(gate.enter("a", bytes(8), None));
        assert!(is_pending(&mut large).await);
        // One of its two places is kept for it.
        let mut next = Box::pin(gate.enter("a", bytes(0), None));
        assert!(is_pending(&mut next).await);
        within.clear();
        within.push_back(next.await.unwrap());
        drop(other);
        drop(large.await.unwrap());
    }

    type Entering = std::pin::Pin<Box<dyn Future<Output = Result<Place, Busy>>>>;

    /// Random comings and goings, and what the gate promises of each.
    struct Model {
        gate: Arc<Gate>,
        chance: u64,
        running: Vec<Place>,
        waiting: Vec<(usize, u64, Entering)>,
        sessions: Vec<Held>,
    }

    const TENANTS: [&str; 3] = ["a", "b", "c"];

    impl Model {
        fn new(seed: u64) -> Model {
            let config = GateConfig {
                running: 1 + (seed % 4) as usize,
                running_per_tenant: [None, Some(1), Some(2)][(seed / 4 % 3) as usize],
                waiting: 64,
                memory_bytes: Some(10),
                ..GateConfig::default()
            };
            let gate = Gate::new(config);
            let chance = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            Model { gate, chance, running: vec![], waiting: vec![], sessions: vec![] }
        }

        fn below(&mut self, end: usize) -> usize {
            self.chance ^= self.chance << 13;
            self.chance ^= self.chance >> 7;
            self.chance ^= self.chance << 17;
            (self.chance >> 33) as usize % end.max(1)
        }

        fn comes(&mut self, tenant: usize, needs: Needs) {
            let gate = self.gate.clone();
            let entering = async move { gate.enter(TENANTS[tenant], needs, None).await };
            self.waiting.push((tenant, needs.own_bytes, Box::pin(entering)));
        }

        /// Everybody looks whether its turn has come.
        fn look(&mut self) {
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            // Twice: one that comes may say that the engine holds less, and others go on.
            for _ in 0..2 {
                for (tenant, bytes, mut entering) in std::mem::take(&mut self.waiting) {
                    match entering.as_mut().poll(&mut context) {
                        std::task::Poll::Pending => self.waiting.push((tenant, bytes, entering)),
                        std::task::Poll::Ready(Ok(place)) => self.running.push(place),
                        std::task::Poll::Ready(Err(_)) => {}
                    }
                }
            }
        }

        fn step(&mut self) {
            match self.below(10) {
                0..4 => {
                    let (tenant, own) = (self.below(3), self.below(11) as u64);
                    let own_bytes = if self.below(2) == 0 { 0 } else { own };
                    let shared_bytes = if own_bytes == 0 { 0 } else { self.below(4) as u64 };
                    self.comes(tenant, Needs { own_bytes, shared_bytes });
                }
                4..7 if !self.running.is_empty() => {
                    let at = self.below(self.running.len());
                    drop(self.running.remove(at));
                }
                7 => {
                    let (own, shared_bytes) = (1 + self.below(8) as u64, self.below(4) as u64);
                    self.sessions.extend(self.gate.reserve(Needs { own_bytes: own, shared_bytes }));
                }
                8 if !self.sessions.is_empty() => {
                    let at = self.below(self.sessions.len());
                    drop(self.sessions.remove(at));
                }
                9 if !self.waiting.is_empty() => {
                    let at = self.below(self.waiting.len());
                    drop(self.waiting.remove(at));
                }
                _ => {}
            }
            // Not everybody looks at once.
            if self.below(4) > 0 {
                self.look();
                self.check();
            }
        }

        fn check(&self) {
            let (running, waiting) = counts(&self.gate);
            assert_eq!((running, waiting), (self.running.len(), self.waiting.len()));
            let (config, state) = (&self.gate.config, self.gate.lock());
            assert!(running <= config.running);
            let most = config.running_per_tenant.unwrap_or(usize::MAX);
            assert!(state.running_by.values().all(|own| *own <= most));
            assert!(state.bytes + state.held <= 10, "more is given out than there is");
            assert!(state.held <= 5 || self.sessions.len() == 1, "sessions have half");
            for (tenant, bytes, _) in &self.waiting {
                let fits_beside_sessions = state.held == 0 || bytes + state.held <= 10;
                assert!(fits_beside_sessions, "it would wait for a session to end");
                let own = state.running_by.get(TENANTS[*tenant]).copied().unwrap_or(0);
                let could_run = running < config.running && own.saturating_add(1) < most;
                assert!(*bytes > 0 || !could_run, "it needs no memory and waits for some");
            }
        }

        /// Everybody in line gets its turn, although sessions stand and more of their runs come.
        fn all_are_served(mut self) {
            let mut in_line = std::mem::take(&mut self.waiting);
            for turn in 0.. {
                assert!(turn < 2_000, "{} wait for ever", in_line.len());
                let newcomers = std::mem::replace(&mut self.waiting, in_line);
                self.look();
                in_line = std::mem::replace(&mut self.waiting, newcomers);
                self.look();
                if in_line.is_empty() {
                    return;
                }
                let tenant = self.below(3);
                self.comes(tenant, Needs::default());
                self.look();
                // The oldest ends. Nobody holds a place for ever.
                if !self.running.is_empty() {
                    drop(self.running.remove(0));
                }
            }
        }
    }

    #[test]
    fn whoever_comes_and_goes_nobody_waits_for_ever() {
        for seed in 0..600 {
            let mut model = Model::new(seed);
            for _ in 0..120 {
                model.step();
            }
            model.look();
            model.check();
            model.all_are_served();
        }
    }
}
