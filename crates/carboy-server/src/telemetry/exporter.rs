//! Sends spans to a collector, by OTLP over HTTP, in a task of its own.
//!
//! Whoever has a span never waits: what does not fit into the queue, or does not reach the collector, is dropped and
//! counted. The collector is reached without TLS, so it belongs on this host or beside it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, Method};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::message::{Span, encoded};
use crate::client::Endpoint;

/// How many spans wait to be sent.
const QUEUE: usize = 4096;

/// How many are sent at once, and how long the first of them waits for others.
const BATCH: usize = 512;
const WAIT: Duration = Duration::from_secs(1);

/// How long the collector may take for one request.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many bytes its answer may have.
const ANSWER: usize = 64 << 10;

/// How long the end of the program waits for what is still to be sent.
const LAST: Duration = Duration::from_secs(3);

/// The address of a collector cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct ExporterFault(pub String);

impl std::fmt::Display for ExporterFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ExporterFault {}

#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    dropped: AtomicU64,
}

enum Item {
    Span(Box<Span>),
    /// Everything before this is to be sent, and then this is to be told.
    Flush(oneshot::Sender<()>),
}

/// The way to a collector.
pub struct Exporter {
    queue: mpsc::Sender<Item>,
    counts: Arc<Counts>,
}

impl Exporter {
    /// Begins to send what it is given to a collector such as `http://localhost:4318`. Must be called in a runtime.
    pub fn start(collector: &str) -> Result<Exporter, ExporterFault> {
        let collector = collector_at(collector)?;
        let (queue, items) = mpsc::channel(QUEUE);
        let counts = Arc::new(Counts::default());
        tokio::spawn(work(items, collector, counts.clone()));
        Ok(Exporter { queue, counts })
    }

    pub(super) fn send(&self, span: Span) {
        if self.queue.try_send(Item::Span(Box::new(span))).is_err() {
            self.counts.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn counts(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.counts.sent), read(&self.counts.dropped))
    }

    pub(super) async fn flush(&self) {
        let (done, told) = oneshot::channel();
        let all = async {
            if self.queue.send(Item::Flush(done)).await.is_ok() {
                told.await.ok(); // Told or not, it is over.
            }
        };
        timeout(LAST, all).await.ok(); // What is left then is lost.
    }
}

async fn work(mut items: mpsc::Receiver<Item>, collector: Endpoint, counts: Arc<Counts>) {
    let mut flushed = None;
    while let Some(first) = items.recv().await {
        let mut batch = vec![];
        let mut next = Some(first);
        let full = tokio::time::sleep(WAIT);
        tokio::pin!(full);
        while let Some(item) = next {
            match item {
                Item::Span(span) => batch.push(*span),
                Item::Flush(done) => {
                    flushed = Some(done);
                    break;
                }
            }
            if batch.len() == BATCH {
                break;
            }
            next = tokio::select! {
                item = items.recv() => item,
                () = &mut full => None,
            };
        }
        if !batch.is_empty() {
            let count = batch.len() as u64;
            let is_sent =
                timeout(PATIENCE, post(&collector, encoded(batch))).await.unwrap_or(false);
            let counter = if is_sent { &counts.sent } else { &counts.dropped };
            counter.fetch_add(count, Ordering::Relaxed);
        }
        if let Some(done) = flushed.take() {
            done.send(()).ok(); // Nobody may wait any more.
        }
    }
}

/// Where spans go. The path is that of the protocol if none is named.
fn collector_at(address: &str) -> Result<Endpoint, ExporterFault> {
    let wrong = |why| ExporterFault(format!("{address} is no address of a collector: {why}"));
    let mut endpoint = Endpoint::of(address, 4318).map_err(wrong)?;
    if endpoint.path == "/" {
        endpoint.path = "/v1/traces".into();
    }
    Ok(endpoint)
}

/// Whether the collector took it.
async fn post(collector: &Endpoint, body: Vec<u8>) -> bool {
    let kind = HeaderValue::from_static("application/x-protobuf");
    let headers = HeaderMap::from_iter([(CONTENT_TYPE, kind)]);
    let answer = collector.send(Method::POST, headers, body, ANSWER).await;
    answer.is_ok_and(|(status, _)| status.is_success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collector_is_an_address_without_tls() {
        let at = |text| collector_at(text).map(|found| (found.place, found.path));
        assert_eq!(at("http://localhost"), Ok(("localhost:4318".into(), "/v1/traces".into())));
        assert_eq!(at("http://c:1/otlp/x"), Ok(("c:1".into(), "/otlp/x".into())));
        assert!(at("https://c").is_err());
    }

    #[tokio::test]
    async fn what_does_not_reach_a_collector_is_counted() {
        // A port that was free a moment ago: whoever connects is refused, or is no collector.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let place = listener.local_addr().expect("its address");
        drop(listener);
        let exporter = Exporter::start(&format!("http://{place}")).expect("an address");
        for _ in 0..3 {
            exporter.send(Span::default());
        }
        while exporter.counts().1 < 3 {
            exporter.flush().await;
        }
        assert_eq!(exporter.counts(), (0, 3));
    }

    #[tokio::test]
    async fn a_full_queue_drops_and_does_not_wait() {
        let exporter = Exporter::start("http://127.0.0.1:9").expect("an address");
        // Nothing is taken from the queue until this test waits.
        for _ in 0..QUEUE + 5 {
            exporter.send(Span::default());
        }
        assert_eq!(exporter.counts(), (0, 5));
    }
}
