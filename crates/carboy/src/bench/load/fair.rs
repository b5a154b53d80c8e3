//! What one tenant notices of another that asks for ten times its quota.
//!
//! A quota is what a tenant may use, so the measure is the other tenant within its quota: the same runs of it are
//! begun, and nine times as many requests come beside them that are refused. Who sends those takes a part of the same
//! processors, and so does whatever server reads them: as a control they go to `/healthz`, which is answered with
//! next to nothing. The paced tenant is timed in each case in turn, so that what else the machine does falls on all.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::Samples;
use super::client::Client;
use super::crowd::Crowd;
use super::server::{Server, key};

/// How often each case is measured.
const ROUNDS: usize = 6;

/// Between two runs of the paced one.
const PACE: Duration = Duration::from_millis(5);

/// What the other tenant asks for, in parts of its quota, and how many requests go to `/healthz`.
const CASES: [(&str, f64, f64); 4] =
    [("alone", 0.0, 0.0), ("within", 1.0, 0.0), ("control", 1.0, 9.0), ("beyond", 10.0, 0.0)];

/// What was found in one case.
#[derive(Default)]
struct Case {
    taken: Vec<f64>,
    /// The p99 of each round.
    rounds: Vec<f64>,
    accepted: usize,
    refused: u64,
    probes: u64,
    /// Processor time of the server's own threads, and how long it was watched.
    server_ms: f64,
    watched: Duration,
}

/// For so long in all, beside one whose quota is so many runs a second.
pub async fn measure(
    server: &Server,
    client: &Client,
    time: Duration,
    quota: f64,
) -> io::Result<Value> {
    let window = time / (CASES.len() * ROUNDS) as u32;
    // Not the first runs of a server.
    paced(client, window).await?;
    let mut cases: [Case; CASES.len()] = Default::default();
    for _ in 0..ROUNDS {
        for (case, (_, runs, probes)) in cases.iter_mut().zip(CASES) {
            case.round(server, client, window, (runs * quota, probes * quota)).await?;
        }
    }
    let [alone, within, control, beyond] = &cases;
    let mut report = json!({
        "quota_per_s": quota,
        "p99_over_alone": beyond.over(alone),
        "p99_over_within": beyond.over(within),
        "control_p99_over_within": control.over(within),
    });
    for (case, (name, ..)) in cases.iter().zip(CASES) {
        report[name] = case.told();
    }
    Ok(report)
}

impl Case {
    async fn round(
        &mut self,
        server: &Server,
        client: &Client,
        window: Duration,
        (runs, probes): (f64, f64),
    ) -> io::Result<()> {
        let crowd = |name| Crowd::new(name, &Client::new(&client.address));
        let (greedy, health) = (crowd("greedy"), crowd("health"));
        let sending = (
            (runs > 0.0).then(|| tokio::spawn(greedy.clone().send(runs, &["greedy"]))),
            (probes > 0.0).then(|| tokio::spawn(health.clone().probe(probes))),
        );
        // What it may begin at once after a pause is its own: the rate is what is asked for here.
        paced(client, window / 4).await?;
        let (start, before) = (Instant::now(), server.cpu_ms());
        let taken = paced(client, window).await?;
        self.server_ms += server.cpu_ms() - before;
        self.watched += start.elapsed();
        for crowd in [&greedy, &health] {
            crowd.stop();
        }
        for task in [sending.0, sending.1].into_iter().flatten() {
            task.await.map_err(io::Error::other)?;
        }
        self.rounds.push(Samples::new(taken.clone()).quantile(0.99));
        self.taken.extend(taken);
        let fates = greedy.fates();
        self.accepted += fates.accepted.len();
        self.refused += fates.refused;
        self.probes += health.fates().sent;
        Ok(())
    }

    /// The p99 of each round over that of the other case in the same round: the one in the middle.
    fn over(&self, other: &Case) -> f64 {
        let rounds = self.rounds.iter().zip(&other.rounds);
        Samples::new(rounds.map(|(own, other)| own / other.max(0.001)).collect()).quantile(0.5)
    }

    fn told(&self) -> Value {
        let mut told = Samples::new(self.taken.clone()).summary();
        told["p99_of_rounds_ms"] = json!(self.rounds);
        told["accepted"] = json!(self.accepted);
        told["refused"] = json!(self.refused);
        told["probes"] = json!(self.probes);
        told["server_ms_per_s"] = json!(self.server_ms / self.watched.as_secs_f64().max(0.001));
        told
    }
}

/// One run after another, each after a pause: how long each took, in milliseconds.
async fn paced(client: &Client, time: Duration) -> io::Result<Vec<f64>> {
    let body = json!({ "code": super::super::JOB }).to_string();
    let request = client.request(&key("paced"), "POST /v1/runs", "paced", &body);
    let (start, mut taken) = (Instant::now(), Vec::new());
    while start.elapsed() < time {
        let asked = Instant::now();
        let answer = client.ask(&request).await?;
        if answer.status != 200 {
            return Err(io::Error::other(format!("the paced tenant got {}", answer.status)));
        }
        taken.push(asked.elapsed().as_secs_f64() * 1e3);
        tokio::time::sleep(PACE).await;
    }
    Ok(taken)
}
