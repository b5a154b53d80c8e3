//! The streams and consumers that durable jobs need at a broker, and the subjects in them.
//!
//! | stream | subjects | what is in it |
//! |---|---|---|
//! | `CB_ASK` | `cb.ask.TENANT.ID`, `cb.stop.TENANT.ID` | tickets, each written once; marks of jobs that their callers ended |
//! | `CB_JOBS` | `cb.jobs.CLASS.SHARD.TENANT` | orders, until they are done |
//! | `CB_RES` | `cb.res.TENANT.ID` | results, each written once |
//! | `CB_HOOK` | `cb.hook.TENANT` | ends that webhooks are to be told of, until they were |
//! | `CB_DLQ` | `cb.dlq.TENANT.ID` | orders that were given up |

use std::time::Duration;

use async_nats::jetstream::consumer::AckPolicy;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use sha2::{Digest, Sha256};

use super::{Class, KEPT};

pub(super) const ASK: &str = "CB_ASK";
pub(super) const JOBS: &str = "CB_JOBS";
pub(super) const RESULTS: &str = "CB_RES";
pub(super) const HOOKS: &str = "CB_HOOK";
pub(super) const DEAD: &str = "CB_DLQ";

/// The consumer of ends that webhooks are to be told of.
pub(super) const HOOKS_CONSUMER: &str = "hooks";

/// Wakes one worker that waits. Nothing depends on it but the time until the next look.
pub(super) const WAKE: &str = "cb.wake";

/// How many parts each class has. A tenant has two of them, so that it cannot fill all.
pub(super) const SHARDS: usize = 8;

/// How many orders of a tenant wait in one shard.
const BACKLOG: i64 = 10_000;

/// How many orders of one consumer may be under way, in the whole fleet.
const UNDER_WAY: i64 = 50_000;

/// How long dead letters are kept, and how many.
const DEAD_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
const DEAD_MOST: i64 = 10_000;

/// How long a webhook may take to be told before another gateway tries.
pub(super) const HOOK_LEASE: Duration = Duration::from_secs(60);

/// What an operator may choose.
#[derive(Clone, Copy, Debug)]
pub struct StreamBounds {
    /// How many brokers keep everything: 1 or 3.
    pub replicas: usize,
    /// The most bytes of each stream. A broker reserves them.
    pub bytes: i64,
    /// How many orders of a tenant wait in one of its two shards.
    pub backlog: i64,
    /// How long a worker may be silent about an order, if not as long as [`Class::lease`] says.
    pub lease: Option<Duration>,
}

impl StreamBounds {
    /// What a cluster of so many brokers keeps: three of them everything, if there are three.
    pub fn of_brokers(count: usize) -> StreamBounds {
        StreamBounds { replicas: if count >= 3 { 3 } else { 1 }, ..StreamBounds::default() }
    }
}

impl Default for StreamBounds {
    fn default() -> StreamBounds {
        StreamBounds { replicas: 1, bytes: 2 << 30, backlog: BACKLOG, lease: None }
    }
}

/// A name as a part of a subject: whatever is not plain is written as `=` and two hexadecimal digits.
pub(crate) fn part(name: &str) -> String {
    let mut part = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            part.push(char::from(byte));
        } else {
            part += &format!("={byte:02x}");
        }
    }
    part
}

pub(super) fn ask(tenant: &str, id: &str) -> String {
    format!("cb.ask.{}.{}", part(tenant), part(id))
}

pub(super) fn stop(tenant: &str, id: &str) -> String {
    format!("cb.stop.{}.{}", part(tenant), part(id))
}

pub(super) fn result(tenant: &str, id: &str) -> String {
    format!("cb.res.{}.{}", part(tenant), part(id))
}

pub(super) fn hook(tenant: &str) -> String {
    format!("cb.hook.{}", part(tenant))
}

pub(super) fn dead(tenant: &str, id: &str) -> String {
    format!("cb.dlq.{}.{}", part(tenant), part(id))
}

pub(super) fn done(gateway: &str) -> String {
    format!("cb.done.{gateway}")
}

pub(super) fn job(class: Class, shard: usize, tenant: &str) -> String {
    format!("cb.jobs.{}.{shard}.{}", class.as_str(), part(tenant))
}

/// All orders of a tenant.
pub(super) fn jobs_of(tenant: &str) -> String {
    format!("cb.jobs.*.*.{}", part(tenant))
}

/// The two shards of a tenant.
pub(super) fn shards(tenant: &str) -> [usize; 2] {
    let hash: [u8; 32] = Sha256::digest(tenant.as_bytes()).into();
    let first = usize::from(hash[0]) % SHARDS;
    let other = (first + 1 + usize::from(hash[1]) % (SHARDS - 1)) % SHARDS;
    [first, other]
}

/// The name of a consumer.
pub(super) fn consumer(class: Class, shard: usize) -> String {
    format!("{}-{shard}", class.as_str())
}

/// All streams.
pub(super) fn streams(bounds: StreamBounds) -> Vec<Config> {
    let base = |name: &str, subjects: &[&str]| Config {
        name: name.into(),
        subjects: subjects.iter().map(|&subject| subject.into()).collect(),
        storage: StorageType::File,
        num_replicas: bounds.replicas,
        max_age: KEPT,
        max_bytes: bounds.bytes,
        discard: DiscardPolicy::New,
        ..Config::default()
    };
    let once = |config: Config| Config {
        max_messages_per_subject: 1,
        discard_new_per_subject: true,
        ..config
    };
    vec![
        // A ticket outlives the last result that it can have.
        Config {
            max_age: 2 * KEPT,
            allow_direct: true,
            ..once(base(ASK, &["cb.ask.*.*", "cb.stop.*.*"]))
        },
        Config {
            retention: RetentionPolicy::WorkQueue,
            max_messages_per_subject: bounds.backlog,
            discard_new_per_subject: true,
            duplicate_window: Duration::from_secs(300),
            ..base(JOBS, &["cb.jobs.*.*.*"])
        },
        once(base(RESULTS, &["cb.res.*.*"])),
        Config {
            retention: RetentionPolicy::WorkQueue,
            duplicate_window: Duration::from_secs(300),
            max_bytes: bounds.bytes / 8,
            ..base(HOOKS, &["cb.hook.*"])
        },
        // The latest are of more use than the oldest.
        Config {
            discard: DiscardPolicy::Old,
            max_age: DEAD_KEPT,
            max_messages: DEAD_MOST,
            max_messages_per_subject: 1,
            max_bytes: bounds.bytes / 8,
            ..base(DEAD, &["cb.dlq.*.*"])
        },
    ]
}

/// How long a worker may be silent about an order.
pub(super) fn lease(class: Class, bounds: StreamBounds) -> Duration {
    bounds.lease.unwrap_or_else(|| class.lease())
}

/// All consumers, with the stream of each.
pub(super) fn consumers(bounds: StreamBounds) -> Vec<(&'static str, pull::Config)> {
    let base = pull::Config {
        ack_policy: AckPolicy::Explicit,
        max_ack_pending: UNDER_WAY,
        // A worker that gets an order too often gives it up itself, and whoever dies at that is followed by another.
        max_deliver: -1,
        ..pull::Config::default()
    };
    let mut all = vec![(
        HOOKS,
        pull::Config {
            durable_name: Some(HOOKS_CONSUMER.into()),
            ack_wait: HOOK_LEASE,
            ..base.clone()
        },
    )];
    for (class, shard) in places() {
        let config = pull::Config {
            durable_name: Some(consumer(class, shard)),
            filter_subject: job(class, shard, "").trim_end_matches('.').to_owned() + ".*",
            ack_wait: lease(class, bounds),
            ..base.clone()
        };
        all.push((JOBS, config));
    }
    all
}

/// Every class with every shard.
pub(super) fn places() -> impl Iterator<Item = (Class, usize)> {
    Class::ALL.into_iter().flat_map(|class| (0..SHARDS).map(move |shard| (class, shard)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_part_of_a_subject_and_its_own() {
        assert_eq!(part("acme-1_x"), "acme-1_x");
        assert_eq!(part("a.b"), "a=2eb");
        assert_ne!(part("a=2eb"), part("a.b"));
        for name in ["a.b", "*", ">", "a b", "\u{e9}"] {
            assert!(!part(name).contains(['.', '*', '>', ' ']), "{name}");
        }
    }

    #[test]
    fn a_tenant_has_two_shards() {
        for number in 0..100 {
            let [one, other] = shards(&format!("tenant {number}"));
            assert!(one != other && one < SHARDS && other < SHARDS);
        }
        assert_eq!(consumers(StreamBounds::default()).len(), 2 * SHARDS + 1);
        let filters = consumers(StreamBounds::default());
        assert_eq!(filters[1].1.filter_subject, "cb.jobs.short.0.*");
    }
}
