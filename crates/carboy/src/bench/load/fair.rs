//! What one tenant notices of another that asks for ten times its quota.
//!
//! The paced one is timed alone and beside the other, in turn, so that what else the machine does falls on both.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::super::Samples;
use super::client::Client;
use super::crowd::Crowd;
use super::server::key;

/// How often both are measured.
const PAIRS: usize = 6;

/// Between two runs of the paced one.
const PACE: Duration = Duration::from_millis(5);

/// For so long in all, beside one that begins runs ten times as fast as its quota allows.
pub async fn measure(client: &Client, time: Duration, quota: f64) -> io::Result<Value> {
    let window = time / (2 * PAIRS as u32);
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let (mut accepted, mut refused) = (0, 0);
    // Not the first runs of a server.
    paced(client, window / 4).await?;
    for _ in 0..PAIRS {
        alone.extend(paced(client, window).await?);
        let crowd = Crowd::new("greedy", &Client::new(&client.address));
        let sending = tokio::spawn(crowd.clone().send(10.0 * quota, &["greedy"]));
        // What it may begin at once after a pause is its own: the rate is what is asked for here.
        paced(client, window / 4).await?;
        beside.extend(paced(client, window).await?);
        crowd.stop();
        sending.await.map_err(io::Error::other)?;
        let fates = crowd.fates();
        accepted += fates.accepted.len();
        refused += fates.refused;
    }
    let (alone, beside) = (Samples::new(alone), Samples::new(beside));
    let over = |part| beside.quantile(part) / alone.quantile(part).max(0.001);
    Ok(json!({
        "quota_per_s": quota,
        "greedy_accepted": accepted,
        "greedy_refused": refused,
        "alone": alone.summary(),
        "beside": beside.summary(),
        "p50_over_alone": over(0.5),
        "p99_over_alone": over(0.99),
    }))
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
