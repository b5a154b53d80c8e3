//! Honest callers at a rate that does not care how fast the server is, and what became of each request.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;

use super::client::{Client, TWICE};
use super::server::{Log, key};

/// The most requests that wait for an answer. Above that a crowd holds back, and says how often.
const WAITING: usize = 600;

/// How often requests are sent.
const TICK: Duration = Duration::from_millis(2);

/// What became of the requests.
#[derive(Default)]
pub struct Fates {
    pub sent: u64,
    /// Answered with an outcome, the right one.
    pub accepted: HashSet<String>,
    pub refused: u64,
    /// Refusals that do not say when to come again.
    pub refused_without_time: u64,
    /// Closed without an answer, or no connection at all.
    pub unanswered: HashSet<String>,
    /// Another answer than these, or the answer of another request.
    pub wrong: Vec<String>,
    /// Connections on which more than one answer came.
    pub twice: u64,
    /// Not sent, because too many had no answer yet.
    pub held_back: u64,
    pub accepted_ms: Vec<f64>,
    pub refused_ms: Vec<f64>,
    /// The longest time without an outcome for anybody, in seconds.
    pub longest_silence: f64,
    last: Option<Instant>,
}

impl Fates {
    /// Runs that the server had and nobody heard of.
    pub fn lost(&self, log: &Log) -> u64 {
        self.unanswered.iter().filter(|id| log.runs.contains_key(*id)).count() as u64
    }

    /// Requests that led to more than one run.
    pub fn run_twice(&self, log: &Log) -> u64 {
        let all = self.accepted.iter().chain(&self.unanswered);
        all.filter(|id| log.runs.get(*id).is_some_and(|runs| *runs > 1)).count() as u64
    }
}

/// All callers.
#[derive(Clone)]
pub struct Crowd {
    /// What its ids begin with.
    name: &'static str,
    client: Client,
    fates: Arc<Mutex<Fates>>,
    next: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Crowd {
    pub fn new(name: &'static str, client: &Client) -> Crowd {
        Crowd {
            name,
            client: client.clone(),
            fates: Arc::default(),
            next: Arc::default(),
            over: Arc::default(),
        }
    }

    pub fn fates(&self) -> MutexGuard<'_, Fates> {
        self.fates.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more is sent.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// Sends so many requests a second until it is told to stop, in turn for each of these tenants, and waits for
    /// what is under way.
    pub async fn send(self, per_second: f64, tenants: &'static [&'static str]) {
        self.at_rate(per_second, |crowd| crowd.one(tenants)).await;
    }

    /// Asks so many times a second whether the server is there, until it is told to stop.
    pub async fn probe(self, per_second: f64) {
        self.at_rate(per_second, Crowd::look).await;
    }

    async fn at_rate<F: Future<Output = ()> + Send + 'static>(
        self,
        per_second: f64,
        ask: impl Fn(Crowd) -> F,
    ) {
        let mut waiting = JoinSet::new();
        let (start, mut sent) = (Instant::now(), 0_u64);
        let mut ticks = tokio::time::interval(TICK);
        while !self.over.load(Ordering::Relaxed) {
            ticks.tick().await;
            while waiting.try_join_next().is_some() {}
            let due = (start.elapsed().as_secs_f64() * per_second) as u64;
            for _ in sent..due {
                if waiting.len() >= WAITING {
                    self.fates().held_back += 1;
                    continue;
                }
                waiting.spawn(ask(self.clone()));
            }
            sent = due;
        }
        while waiting.join_next().await.is_some() {}
    }

    /// So many callers, each asking again as soon as it is answered, for a time: outcomes a second.
    pub async fn rush(&self, callers: usize, time: Duration) -> f64 {
        let (start, before) = (Instant::now(), self.fates().accepted.len());
        let mut tasks = JoinSet::new();
        for _ in 0..callers {
            let crowd = self.clone();
            tasks.spawn(async move {
                while start.elapsed() < time {
                    crowd.clone().one(&["a"]).await;
                }
            });
        }
        while tasks.join_next().await.is_some() {}
        (self.fates().accepted.len() - before) as f64 / start.elapsed().as_secs_f64()
    }

    /// One request for nothing.
    async fn look(self) {
        let request = self.client.request("", "GET /healthz", "probe", "");
        let answered = self.client.ask(&request).await;
        let mut fates = self.fates();
        fates.sent += 1;
        if !answered.is_ok_and(|answer| answer.status == 200) {
            fates.wrong.push("a probe was not answered".into());
        }
    }

    /// One request, which computes what no other does.
    async fn one(self, tenants: &[&str]) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let tenant = tenants[number as usize % tenants.len()];
        let id = format!("{}-{number}", self.name);
        let body = json!({ "code": format!("result = {number} * 3 + 1") }).to_string();
        let request = self.client.request(&key(tenant), "POST /v1/runs", &id, &body);
        let start = Instant::now();
        let answered = self.client.ask(&request).await;
        let ms = start.elapsed().as_secs_f64() * 1e3;
        self.note(number, id, answered, ms);
    }

    fn note(&self, number: u64, id: String, answered: io::Result<super::client::Answer>, ms: f64) {
        let mut fates = self.fates();
        fates.sent += 1;
        let answer = match answered {
            Ok(answer) => answer,
            Err(error) => {
                if error.to_string() == TWICE {
                    fates.twice += 1;
                }
                fates.unanswered.insert(id);
                return;
            }
        };
        match answer.status {
            200 if answer.json()["result"] == json!(number * 3 + 1) => {
                let now = Instant::now();
                if let Some(last) = fates.last.replace(now) {
                    fates.longest_silence = fates.longest_silence.max((now - last).as_secs_f64());
                }
                fates.accepted_ms.push(ms);
                fates.accepted.insert(id);
            }
            429 | 503 => {
                fates.refused += 1;
                fates.refused_without_time += u64::from(!answer.says_when);
                fates.refused_ms.push(ms);
            }
            status => {
                let text = String::from_utf8_lossy(&answer.body).into_owned();
                fates.wrong.push(format!("{id}: {status}: {text}"));
            }
        }
    }
}
