//! Brings files that runs left to the store.
//!
//! The run is answered without waiting for that. If no gateway or no store answers, it is tried for ten minutes.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use carboy_engine::Runner;
use carboy_protocol::Artifact;
use tokio::time::{Instant, sleep, timeout};

use super::node::Node;
use super::spool::Left;
use crate::bus::Bus;
use crate::files::{PATIENCE, SIGN, SignAnswer, SignAsk, sign_at};
use crate::message::{VERSION, read, written};
use crate::name::Start;

/// How long a gateway may take to answer. It may have to ask the store several times.
const ANSWER: Duration = Duration::from_secs(60);

/// Pauses before it is tried again, of which the last stays, in milliseconds.
const PAUSES: [u64; 6] = [50, 250, 1000, 2000, 5000, 10_000];

/// What came of one attempt.
#[derive(Debug, PartialEq, Eq)]
enum Tried {
    Done,
    Later,
    /// Not this file; others may.
    Without,
    Never,
}

/// Brings the files of a run to the store, or gives up after a while.
pub(super) async fn bring<R: Runner, B: Bus>(node: Arc<Node<R, B>>, left: Arc<Left>) {
    let files = left.kept().files.clone();
    let file = left.kept().file.clone();
    let Some(file) = file.filter(|_| !files.is_empty()) else { return };
    let list: Vec<_> = files.iter().map(|(artifact, _)| artifact).collect();
    let Ok(list) = serde_json::to_vec(&list) else { return };
    let until = Instant::now() + PATIENCE;
    let mut pauses = PAUSES.iter();
    let mut pause = PAUSES[0];
    for (number, (artifact, at)) in files.iter().enumerate() {
        loop {
            match attempt(&node, &left, (number, artifact), &list, (&file, *at)).await {
                Tried::Done | Tried::Without => break,
                Tried::Never => return,
                Tried::Later if Instant::now() >= until => return,
                Tried::Later => {
                    pause = pauses.next().copied().unwrap_or(pause);
                    sleep(Duration::from_millis(pause)).await;
                }
            }
        }
    }
}

async fn attempt<R: Runner, B: Bus>(
    node: &Node<R, B>,
    left: &Left,
    (number, artifact): (usize, &Artifact),
    list: &[u8],
    (file, at): (&Arc<File>, u64),
) -> Tried {
    let Some(sha256) = &artifact.sha256 else { return Tried::Never };
    let ask = SignAsk {
        v: VERSION,
        run: left.run.clone(),
        tenant: left.tenant.clone(),
        gateway: left.gateway.clone(),
        address: node.config.address,
        permit: left.permit.clone(),
        number,
    };
    let Ok(_place) = left.spool.places.acquire().await else { return Tried::Never };
    let question = written(&ask, list);
    // The gateway that gave the run knows most of it. If it is gone, another may sign.
    let mut answer = answered(node, sign_at(&left.gateway), &question).await;
    if answer.is_none() {
        answer = answered(node, SIGN.into(), &question).await;
    }
    let url = match answer {
        Some(SignAnswer::Put { url }) => url,
        Some(SignAnswer::Later {}) | None => return Tried::Later,
        Some(SignAnswer::Refused { .. }) => return Tried::Never,
    };
    let part = (at, artifact.bytes);
    match left.spool.uploader.put(&url, sha256, file.clone(), part).await {
        Ok(status) => after(status),
        Err(_) => Tried::Later,
    }
}

/// What a store's answer means for a file.
fn after(status: u16) -> Tried {
    match status {
        200..300 => Tried::Done,
        // An address that came too late is refused too: the next one may not.
        403 | 408 | 429 => Tried::Later,
        400..500 => Tried::Without,
        _ => Tried::Later,
    }
}

/// What a gateway answers; none if nobody does.
async fn answered<R: Runner, B: Bus>(
    node: &Node<R, B>,
    subject: String,
    question: &Bytes,
) -> Option<SignAnswer> {
    let reply = format!("{}.sign.{}", node.bus.inbox(), Start::random().ok()?);
    let mut answers = node.bus.subscribe(reply.clone()).await.ok()?;
    node.bus.publish(subject, Some(reply), question.clone()).await.ok()?;
    let answer = timeout(ANSWER, answers.next()).await.ok()??;
    if answer.no_responders {
        return None;
    }
    read(&answer.payload).ok().map(|(answer, _)| answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_store_refuses_for_good_is_not_tried_again() {
        for status in [400, 404, 409, 413] {
            assert_eq!(after(status), Tried::Without, "{status}");
        }
        for status in [403, 408, 429, 500, 503, 301, 100] {
            assert_eq!(after(status), Tried::Later, "{status}");
        }
        assert_eq!(after(200), Tried::Done);
    }
}
