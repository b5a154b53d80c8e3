//! The ledger on brokers: a bucket of JetStream's, one key for each tenant.
//!
//! It is made as a stream, because the client's own way asks for something that brokers before 2.11 do not say. The client's tools for
//! buckets read it.

use std::time::Duration;

use async_nats::Client;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::traits::Publisher;
use async_nats::jetstream::context::{ContextBuilder, PublishErrorKind};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    Config, DiscardPolicy, LastRawMessageErrorKind, StorageType, Stream,
};
use tokio::sync::OnceCell;

use super::{Away, Leases, Ledger};

/// The bucket.
const BUCKET: &str = "CB_QUOTA";

/// How long a broker may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The most bytes of all entries.
const BYTES: i64 = 64 << 20;

/// Leases in a bucket of the brokers.
pub struct NatsLedger {
    context: Context,
    replicas: usize,
    stream: OnceCell<Stream<()>>,
}

impl NatsLedger {
    /// At the brokers of this connection, of which so many keep it. Nothing is asked of them yet.
    pub fn new(client: &Client, replicas: usize) -> NatsLedger {
        let context = ContextBuilder::new().timeout(ANSWER).build(client.clone());
        NatsLedger { context, replicas, stream: OnceCell::new() }
    }

    async fn stream(&self) -> Result<&Stream<()>, Away> {
        let make = || async {
            self.context.get_or_create_stream(config(self.replicas)).await.map_err(away)?;
            self.context.get_stream_no_info(format!("KV_{BUCKET}")).await.map_err(away)
        };
        self.stream.get_or_try_init(make).await
    }
}

fn config(replicas: usize) -> Config {
    Config {
        name: format!("KV_{BUCKET}"),
        subjects: vec![format!("$KV.{BUCKET}.>")],
        storage: StorageType::File,
        num_replicas: replicas,
        max_messages_per_subject: 1,
        max_bytes: BYTES,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    }
}

fn away(error: impl std::fmt::Display) -> Away {
    Away(error.to_string())
}

fn subject(tenant: &str) -> String {
    format!("$KV.{BUCKET}.{}", crate::jobs::part(tenant))
}

impl Ledger for NatsLedger {
    async fn read(&self, tenant: &str) -> Result<(Leases, u64), Away> {
        // From the leader: another broker may be behind.
        let stream = self.stream().await?;
        match stream.get_last_raw_message_by_subject(&subject(tenant)).await {
            Ok(message) => {
                let leases = serde_json::from_slice(&message.payload).map_err(away)?;
                Ok((leases, message.sequence))
            }
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                Ok((Leases::default(), 0))
            }
            Err(error) => Err(away(error)),
        }
    }

    async fn write(&self, tenant: &str, leases: &Leases, revision: u64) -> Result<bool, Away> {
        let payload = serde_json::to_vec(leases).map_err(away)?;
        let message = PublishMessage::build()
            .payload(payload.into())
            .expected_last_subject_sequence(revision)
            .outbound_message(subject(tenant));
        let answer = match Publisher::publish_message(&self.context, message).await {
            Ok(answer) => answer.await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(_written) => Ok(true),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(false),
            Err(error) => Err(away(error)),
        }
    }
}
