//! The sessions that callers hold, by id: whose each is, what is under way in it, and what became of it.
//!
//! The desk knows sessions by number; ids are given out here. An id begins with a mark of this process, so that
//! whoever comes back with one of an earlier process hears that its session is over.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use carboy_engine::new_id;

use super::problem::Problem;
use super::uploads::Uploaded;

/// How many sessions that are over are remembered, of one tenant and of all.
const OVER_OF_ONE: usize = 256;
const OVER: usize = 4096;

/// How much may be under way in one session, runs that wait for each other among it.
const UNDER_WAY: usize = 16;

/// How many digits of an id are the mark of its process.
const MARK: usize = 8;

/// One session that a caller holds.
pub(super) struct Kept {
    pub id: String,
    pub tenant: String,
    /// Its number at the desk.
    pub number: u64,
    /// What it is a branch of.
    pub parent: Option<String>,
    pub since: Instant,
    /// Whether its id is the runner's: then other doors find it too, and the runner says what became of it.
    pub is_shared: bool,
    /// Uploaded files that its jar has: they take their place on the disk for as long.
    pub files: OnceLock<Vec<Arc<Uploaded>>>,
    /// Not while it is being opened.
    is_open: AtomicBool,
    /// Keys at the desk of what is under way in it: the ids of its runs, and other things.
    under_way: Mutex<BTreeSet<String>>,
}

impl Kept {
    fn keys(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The ids of the runs that are under way in it.
    pub fn runs(&self) -> Vec<String> {
        self.keys().iter().filter(|key| !key.starts_with(ASK)).cloned().collect()
    }

    fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Relaxed)
    }

    /// Notes that something is under way in it until the result is dropped.
    pub fn begin(self: &Arc<Kept>, key: String) -> Result<Doing, Problem> {
        let mut keys = self.keys();
        if keys.len() >= UNDER_WAY {
            let detail = format!("{UNDER_WAY} requests are under way in this session");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
                .again_in(Duration::from_secs(1))
                .hint("wait for their answers: a session does one thing after another"));
        }
        keys.insert(key.clone());
        Ok(Doing { kept: self.clone(), key })
    }
}

/// What keys at the desk begin with that are no runs.
const ASK: &str = "ask-";

/// Something is under way in a session until this is dropped.
pub(super) struct Doing {
    kept: Arc<Kept>,
    pub key: String,
}

impl Drop for Doing {
    fn drop(&mut self) {
        self.kept.keys().remove(&self.key);
    }
}

/// A session that is over.
struct Over {
    id: String,
    tenant: String,
    why: String,
}

#[derive(Default)]
struct Book {
    held: HashMap<String, Arc<Kept>>,
    over: VecDeque<Over>,
}

/// The sessions of all tenants.
pub(super) struct HeldSessions {
    mark: String,
    numbers: AtomicU64,
    asks: AtomicU64,
    book: Mutex<Book>,
}

impl HeldSessions {
    pub fn new() -> HeldSessions {
        // Without random bits no run begins either.
        let mark = new_id().map_or_else(|_error| "0".repeat(MARK), |id| id[..MARK].to_owned());
        let (numbers, asks) = (AtomicU64::new(1), AtomicU64::new(1));
        HeldSessions { mark, numbers, asks, book: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many sessions of a tenant there are, those that are being opened among them.
    pub fn count(&self, tenant: &str) -> usize {
        self.lock().held.values().filter(|kept| kept.tenant == tenant).count()
    }

    /// A key at the desk for something that is no run.
    pub fn ask_key(&self) -> String {
        format!("{ASK}{}", self.asks.fetch_add(1, Ordering::Relaxed))
    }

    /// Takes a place among the sessions of a tenant, which may have so many. The place is given back if the result is
    /// dropped before the session is there.
    pub fn place(
        self: &Arc<Self>,
        tenant: &str,
        most: impl FnOnce() -> usize,
        parent: Option<String>,
    ) -> Result<Place, Problem> {
        let id = new_id().map_err(|_error| Problem::engine())?;
        let id = format!("{}-{id}", self.mark);
        let mut book = self.lock();
        // Looked at now: what was leased may be given back by whoever looks at the book.
        let most = most();
        if book.held.values().filter(|kept| kept.tenant == tenant).count() >= most {
            let are = if most == 1 { "session is" } else { "sessions are" };
            let detail = format!("{most} {are} open, as many as this tenant may have");
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
                .again_in(Duration::from_secs(1))
                .hint("end one with DELETE; the operator sets sessions_at_once of each tenant"));
        }
        let kept = Arc::new(Kept {
            id: id.clone(),
            tenant: tenant.to_owned(),
            number: self.numbers.fetch_add(1, Ordering::Relaxed),
            parent,
            since: Instant::now(),
            is_shared: false,
            files: OnceLock::new(),
            is_open: AtomicBool::new(false),
            under_way: Mutex::default(),
        });
        book.held.insert(id, kept.clone());
        Ok(Place { held: self.clone(), kept, is_filled: false })
    }

    /// The session of a tenant with this id, which is open.
    pub fn find(&self, tenant: &str, id: &str) -> Result<Arc<Kept>, Problem> {
        let book = self.lock();
        if let Some(kept) = book.held.get(id).filter(|kept| kept.tenant == tenant) {
            return if kept.is_open() { Ok(kept.clone()) } else { Err(Problem::no("session")) };
        }
        if let Some(over) = book.over.iter().find(|over| over.id == id && over.tenant == tenant) {
            return Err(ended(&over.why));
        }
        if self.is_of_another_process(id) {
            return Err(ended("the server that held it is not this one, or was restarted"));
        }
        Err(Problem::no("session"))
    }

    /// Whether this is an id as it is given out, but not by this process.
    fn is_of_another_process(&self, id: &str) -> bool {
        let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
        id.split_once('-').is_some_and(|(mark, rest)| {
            mark.len() == MARK
                && rest.len() == 32
                && is_hex(mark)
                && is_hex(rest)
                && mark != self.mark
        })
    }

    /// The sessions of a tenant, the oldest first.
    pub fn of(&self, tenant: &str) -> Vec<Arc<Kept>> {
        self.all(|kept| kept.tenant == tenant)
    }

    /// All that are open, or those of which this is true; the oldest first.
    pub fn all(&self, wanted: impl Fn(&Kept) -> bool) -> Vec<Arc<Kept>> {
        let book = self.lock();
        let open = book.held.values().filter(|kept| kept.is_open() && wanted(kept));
        let mut open: Vec<_> = open.cloned().collect();
        open.sort_by_key(|kept| kept.number);
        open
    }

    /// A session is over. Whether it was not known before.
    pub fn end(&self, kept: &Kept, why: &str) -> bool {
        let mut book = self.lock();
        if book.held.remove(&kept.id).is_none() {
            return false;
        }
        if kept.is_shared {
            return true;
        }
        let (id, tenant) = (kept.id.clone(), kept.tenant.clone());
        let of_it = book.over.iter().filter(|over| over.tenant == tenant).count();
        if of_it >= OVER_OF_ONE
            && let Some(oldest) = book.over.iter().position(|over| over.tenant == tenant)
        {
            book.over.remove(oldest);
        }
        book.over.push_back(Over { id, tenant, why: why.to_owned() });
        if book.over.len() > OVER {
            book.over.pop_front();
        }
        true
    }
}

/// What whoever uses a session that is over is told.
pub(super) fn ended(why: &str) -> Problem {
    Problem::new(StatusCode::GONE, "session_ended", format!("the session is over: {why}"))
        .hint("open another with POST /v1/sessions, and run again what it needs")
}

/// A session on its way.
pub(super) struct Place {
    held: Arc<HeldSessions>,
    pub kept: Arc<Kept>,
    is_filled: bool,
}

impl Place {
    /// It is there.
    pub fn fill(&mut self) -> Arc<Kept> {
        self.kept.is_open.store(true, Ordering::Relaxed);
        self.is_filled = true;
        self.kept.clone()
    }

    /// It is there, under an id of the runner's. If somebody else has put it there already, that is the one.
    pub fn fill_as(&mut self, id: String) -> Arc<Kept> {
        let mut book = self.held.lock();
        if let Some(known) = book.held.get(&id).filter(|known| known.is_open()) {
            return known.clone();
        }
        let own = &self.kept;
        let kept = Arc::new(Kept {
            id: id.clone(),
            tenant: own.tenant.clone(),
            number: own.number,
            parent: own.parent.clone(),
            since: own.since,
            is_shared: true,
            files: OnceLock::new(),
            is_open: AtomicBool::new(true),
            under_way: Mutex::default(),
        });
        book.held.remove(&own.id);
        book.held.insert(id, kept.clone());
        self.is_filled = true;
        kept
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !self.is_filled {
            self.held.lock().held.remove(&self.kept.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code<T>(found: Result<T, Problem>) -> Option<&'static str> {
        found.err().map(|problem| problem.code)
    }

    #[test]
    fn a_session_is_its_tenants_until_it_is_over_and_then_gone() {
        let held = Arc::new(HeldSessions::new());
        let mut place = held.place("acme", || 2, None).expect("a place");
        let id = place.kept.id.clone();
        assert_eq!(code(held.find("acme", &id)), Some("not_found"), "it is not open yet");
        let kept = place.fill();
        assert!(held.find("acme", &id).is_ok());
        assert_eq!(code(held.find("other", &id)), Some("not_found"));
        assert_eq!((held.of("acme").len(), held.of("other").len()), (1, 0));
        assert!(held.end(&kept, "it was closed") && !held.end(&kept, "again"));
        assert_eq!(code(held.find("acme", &id)), Some("session_ended"));
        assert_eq!(code(held.find("other", &id)), Some("not_found"));
        let elsewhere = HeldSessions::new();
        assert_eq!(code(elsewhere.find("acme", &id)), Some("session_ended"));
        for unknown in ["", "x", &id[9..], &format!("{id}0"), &id.replace('-', "_")] {
            assert_eq!(code(elsewhere.find("acme", unknown)), Some("not_found"), "{unknown}");
        }
    }

    #[test]
    fn a_tenant_has_so_many_and_a_session_does_so_much_at_once() {
        let held = Arc::new(HeldSessions::new());
        let first = held.place("acme", || 1, None).expect("a place");
        assert_eq!(code(held.place("acme", || 1, None)), Some("quota"));
        assert!(held.place("other", || 1, None).is_ok());
        drop(first);
        let kept = held.place("acme", || 1, None).expect("the place was given back").fill();
        let mut doing: Vec<_> =
            (0..UNDER_WAY).map(|_| kept.begin(held.ask_key()).expect("room")).collect();
        assert_eq!(code(kept.begin("run".into())), Some("quota"));
        doing.pop();
        let _run = kept.begin("run".into()).expect("room again");
        assert_eq!(kept.runs(), ["run"]);
    }

    #[test]
    fn what_is_over_is_remembered_within_bounds() {
        let held = Arc::new(HeldSessions::new());
        let over = |tenant: &str| {
            let kept = held.place(tenant, || 1, None).expect("a place").fill();
            held.end(&kept, "it was closed");
            kept.id.clone()
        };
        let other = over("other");
        let first = over("acme");
        for _ in 0..OVER_OF_ONE {
            over("acme");
        }
        assert_eq!(code(held.find("acme", &first)), Some("not_found"));
        assert_eq!(code(held.find("other", &other)), Some("session_ended"));
    }
}
