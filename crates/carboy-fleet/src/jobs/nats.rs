//! Durable jobs on JetStream, NATS' own store: what most brokers of a cluster have written is kept.
//!
//! Workers pull, each as much as it has places for. They look at all consumers, in turn from a random one, and wait
//! for a word (`cb.wake`) or a second if there was nothing. Results and tickets are read from the leader of their
//! stream: another broker may be behind, and a job that was just accepted must be found.
//!
//! Of the broker, a gateway needs the JetStream API of all streams here. A worker needs `CONSUMER.INFO`,
//! `CONSUMER.MSG.NEXT` and acknowledgements of `CB_JOBS`, `DIRECT.GET.CB_ASK.cb.stop.>`, and to publish to `cb.res.>`,
//! `cb.hook.>`, `cb.dlq.>`, `cb.done.>` and `cb.wake`; it listens to `cb.stop.>` and `cb.wake`.

mod list;
mod queue;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::context::traits::Publisher;
use async_nats::jetstream::context::{ContextBuilder, PublishError, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, Context, ErrorCode};
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use serde::Serialize;
use tokio::sync::{Notify, OnceCell};
use tokio::time::sleep;

use super::streams::{self, StreamBounds};
use super::waiting::Waiting;
use super::{Class, QueueError};
use crate::Random;

/// How long a broker may take to answer.
const ANSWER: Duration = Duration::from_secs(3);

/// How long nobody looks again if there was nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long one waits before what failed is tried again.
const PAUSE: Duration = Duration::from_millis(250);

/// What is kept free of a message for its headers.
const HEADERS: usize = 4 << 10;

/// How many parts the bytes of queued orders have, of which a tenant's orders share one.
const SHARES: i64 = 32;

/// How often a word that reached a busy worker is passed on.
const PASSED_ON: u8 = 3;

/// How jobs are kept on brokers.
#[derive(Clone, Debug, Default)]
pub struct NatsJobsOptions {
    /// The name under which this gateway hears of results. Empty for a worker.
    pub gateway: String,
    /// How much is kept, and where.
    pub bounds: StreamBounds,
    /// Whether brokers are used that can lose what they accepted.
    pub allow_old_broker: bool,
}

/// Durable jobs on brokers.
pub struct NatsJobs {
    client: Client,
    context: Context,
    options: NatsJobsOptions,
    consumers: Vec<(Class, String, OnceCell<PullConsumer>)>,
    hooks: OnceCell<PullConsumer>,
    random: Mutex<Random>,
    ends: Waiting,
    cancels: Waiting,
    /// Claims that wait for an order.
    idle: AtomicUsize,
    /// There may be one.
    woken: Notify,
    /// There may be an end for a webhook.
    noticed: Notify,
}

fn unavailable(error: impl std::fmt::Display) -> QueueError {
    QueueError::Unavailable(error.to_string())
}

fn written<T: Serialize>(value: &T) -> Result<Bytes, QueueError> {
    serde_json::to_vec(value).map(Bytes::from).map_err(unavailable)
}

/// Whether a stream takes no more of a subject, or no more at all. The broker has one code for both.
fn full(error: &PublishError) -> Option<Result<Sent, QueueError>> {
    let said = std::error::Error::source(error).and_then(|source| source.downcast_ref());
    let said = said
        .filter(|said: &&jetstream::Error| said.error_code() == ErrorCode::STREAM_STORE_FAILED)?;
    let text = said.to_string();
    let is_whole =
        ["maximum bytes", "maximum messages exceeded"].iter().any(|it| text.contains(it));
    Some(if is_whole { Err(QueueError::NoSpace) } else { Ok(Sent::Full) })
}

/// What is told without being kept.
#[derive(Clone, Copy)]
enum Word {
    Ended,
    Stopped,
    Queued,
}

/// What keeps something from being sent twice.
enum Once<'a> {
    /// There is one message of a subject.
    OfSubject,
    /// The broker knows the ids of the last minutes.
    OfId(&'a str),
}

/// What publishing came to.
enum Sent {
    Kept,
    /// The subject has one already.
    Taken,
    /// The stream takes no more of this subject.
    Full,
}

impl NatsJobs {
    /// Jobs at the brokers of this connection. Nothing is asked of them yet.
    pub fn new(client: Client, options: NatsJobsOptions, seed: u64) -> Arc<NatsJobs> {
        let context = ContextBuilder::new().timeout(ANSWER).build(client.clone());
        let consumers = streams::places()
            .map(|(class, shard)| (class, streams::consumer(class, shard), OnceCell::new()));
        Arc::new(NatsJobs {
            client,
            context,
            options,
            consumers: consumers.collect(),
            hooks: OnceCell::new(),
            random: Mutex::new(Random::new(seed)),
            ends: Waiting::default(),
            cancels: Waiting::default(),
            idle: AtomicUsize::new(0),
            woken: Notify::new(),
            noticed: Notify::new(),
        })
    }

    /// How many brokers there are, as far as the addresses and the broker itself say.
    pub fn brokers(client: &Client, url: &str) -> usize {
        url.split(',').count().max(client.server_info().connect_urls.len())
    }

    /// An error if the broker would lose jobs.
    pub fn check_broker(&self) -> Result<(), QueueError> {
        if self.options.allow_old_broker || self.client.is_server_compatible(2, 11, 0) {
            return Ok(());
        }
        Err(QueueError::OldBroker { found: self.client.server_info().version })
    }

    /// Makes the streams and consumers that are not there.
    pub async fn prepare(&self) -> Result<(), QueueError> {
        self.check_broker()?;
        for config in streams::streams(self.options.bounds) {
            self.context.get_or_create_stream(config).await.map_err(unavailable)?;
        }
        let make = |(stream, config)| async move {
            self.context.create_consumer_on_stream(config, stream).await.map(|_made| ())
        };
        let all: Vec<_> = streams::consumers(self.options.bounds).into_iter().map(make).collect();
        let made: Vec<_> = stream::iter(all).buffer_unordered(4).collect().await;
        made.into_iter().collect::<Result<(), _>>().map_err(unavailable)
    }

    /// What a gateway does beside answering: it makes the streams when brokers are there, and hears of results.
    pub async fn attend_gateway(self: Arc<Self>) {
        let preparing = async {
            while self.prepare().await.is_err() {
                sleep(4 * PAUSE).await;
            }
            std::future::pending::<()>().await;
        };
        tokio::join!(preparing, self.hear(Word::Ended));
    }

    /// What a worker does beside running orders: it hears of jobs that were ended and of new ones.
    pub async fn attend_worker(self: Arc<Self>) {
        tokio::join!(self.hear(Word::Stopped), self.hear(Word::Queued));
    }

    async fn hear(&self, word: Word) {
        loop {
            let heard = match word {
                Word::Ended => self.client.subscribe(streams::done(&self.options.gateway)).await,
                Word::Stopped => self.client.subscribe("cb.stop.*.*").await,
                // One of all workers hears it. If it has no place it passes it on.
                Word::Queued => self.client.queue_subscribe(streams::WAKE, "workers".into()).await,
            };
            if let Ok(mut messages) = heard {
                while let Some(message) = messages.next().await {
                    self.heard(word, &message.payload).await;
                }
            }
            sleep(PAUSE).await;
        }
    }

    async fn heard(&self, word: Word, payload: &[u8]) {
        let passed = payload.first().copied().unwrap_or(0);
        match word {
            Word::Ended => {
                self.ends.wake(&String::from_utf8_lossy(payload));
                self.noticed.notify_one();
            }
            Word::Stopped => self.cancels.wake(&String::from_utf8_lossy(payload)),
            Word::Queued if self.idle.load(Ordering::Relaxed) > 0 => self.woken.notify_one(),
            Word::Queued if passed < PASSED_ON => {
                // Whoever looks next finds the order.
                self.client.publish(streams::WAKE, vec![passed + 1].into()).await.ok();
            }
            Word::Queued => {}
        }
    }

    /// Publishes, and again if nobody answers: what is sent here takes effect once.
    async fn send(
        &self,
        subject: &str,
        payload: Bytes,
        once: Once<'_>,
    ) -> Result<Sent, QueueError> {
        let bytes = payload.len();
        let message = PublishMessage::build().payload(payload);
        let message = match once {
            Once::OfSubject => message.expected_last_subject_sequence(0),
            Once::OfId(id) => message.message_id(id),
        };
        let mut tried = 0;
        loop {
            let outbound = message.clone().outbound_message(subject.to_owned());
            let answer = match Publisher::publish_message(&self.context, outbound).await {
                Ok(answer) => answer.await,
                Err(error) => Err(error),
            };
            tried += 1;
            let error = match answer {
                Ok(_kept) => return Ok(Sent::Kept),
                Err(error) => error,
            };
            if let Some(full) = full(&error) {
                return full;
            }
            match error.kind() {
                PublishErrorKind::WrongLastSequence => return Ok(Sent::Taken),
                PublishErrorKind::MaxPayloadExceeded => {
                    return Err(QueueError::TooLong { bytes, most: self.most() });
                }
                _ if tried >= 2 => return Err(unavailable(error)),
                _ => sleep(PAUSE).await,
            }
        }
    }

    /// Whether a tenant may queue so many bytes more.
    ///
    /// The broker counts messages of a subject and not their bytes. So each order may be as long as its part of a share
    /// that is divided among all that wait: the n-th that waits has at most a share / n, and all together have at most
    /// the share times the n-th harmonic number, which is 11 for as many as there can be.
    async fn has_room(&self, tenant: &str, bytes: usize) -> Result<bool, QueueError> {
        let bounds = self.options.bounds;
        let share = usize::try_from(bounds.bytes / SHARES).unwrap_or(usize::MAX);
        let subjects = streams::jobs_of(tenant);
        let backlog = usize::try_from(bounds.backlog).unwrap_or(usize::MAX);
        if bytes.saturating_mul(backlog.saturating_mul(2 * Class::ALL.len())) <= share {
            return Ok(true);
        }
        let stream = self.context.get_stream_no_info(streams::JOBS).await.map_err(unavailable)?;
        let info = stream.info_builder().subjects(subjects).fetch().await.map_err(unavailable)?;
        let counts: Vec<_> = info.collect().await;
        let mut wait: usize = 1;
        for count in counts {
            wait = wait.saturating_add(count.map_err(unavailable)?.1);
        }
        Ok(bytes.saturating_mul(wait) <= share)
    }

    /// The first of those places that are looked at one after the other.
    fn somewhere(&self, among: usize) -> usize {
        self.random.lock().unwrap_or_else(PoisonError::into_inner).below(among)
    }

    /// The longest payload.
    fn most(&self) -> usize {
        self.client.max_payload().saturating_sub(HEADERS)
    }
}
