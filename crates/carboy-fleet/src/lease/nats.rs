//! The ledger on brokers: a bucket of JetStream's, one key for each tenant.
//!
//! It is made as a stream, because the client's own way asks for something that brokers before 2.11 do not say. The client's tools for
//! buckets read it.
//!
//! Workers cannot write there, but they can name an entry as the place where a broker shall answer them. So entries are sealed
//! with the key that gateways share: `SEAL {JSON}`.

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
use crate::session::SessionKey;

/// The bucket.
const BUCKET: &str = "CB_QUOTA";

/// What a seal is on, before the tenant and the entry.
const SEALED: &str = "leases";

/// How long a broker may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The most bytes of all entries.
const BYTES: i64 = 64 << 20;

/// Leases in a bucket of the brokers.
pub struct NatsLedger {
    context: Context,
    replicas: usize,
    key: SessionKey,
    stream: OnceCell<Stream<()>>,
}

impl NatsLedger {
    /// At the brokers of this connection, of which so many keep it. All gateways need the same key. Nothing is asked of the
    /// brokers yet.
    pub fn new(client: &Client, replicas: usize, key: SessionKey) -> NatsLedger {
        let context = ContextBuilder::new().timeout(ANSWER).build(client.clone());
        NatsLedger { context, replicas, key, stream: OnceCell::new() }
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
        deny_delete: true,
        allow_direct: true,
        ..Config::default()
    }
}

fn away(error: impl std::fmt::Display) -> Away {
    Away(error.to_string())
}

/// An entry as it is written.
fn sealed(key: &SessionKey, tenant: &str, leases: &Leases) -> serde_json::Result<String> {
    let text = serde_json::to_string(leases)?;
    Ok(format!("{} {text}", key.seal(&[SEALED, tenant, &text])))
}

/// What an entry says, if a gateway wrote it for this tenant.
fn opened(key: &SessionKey, tenant: &str, payload: &[u8]) -> Option<Leases> {
    let (seal, text) = std::str::from_utf8(payload).ok()?.split_once(' ')?;
    let is_sealed = key.is_seal(&[SEALED, tenant, text], seal);
    is_sealed.then(|| serde_json::from_str(text).ok()).flatten()
}

fn subject(tenant: &str) -> String {
    format!("$KV.{BUCKET}.{}", crate::jobs::part(tenant))
}

impl Ledger for NatsLedger {
    async fn read(&self, tenant: &str) -> Result<(Option<Leases>, u64), Away> {
        // From the leader: another broker may be behind.
        let stream = self.stream().await?;
        match stream.get_last_raw_message_by_subject(&subject(tenant)).await {
            Ok(message) => Ok((opened(&self.key, tenant, &message.payload), message.sequence)),
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
                Ok((Some(Leases::default()), 0))
            }
            Err(error) => Err(away(error)),
        }
    }

    async fn write(&self, tenant: &str, leases: &Leases, revision: u64) -> Result<bool, Away> {
        let payload = sealed(&self.key, tenant, leases).map_err(away)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_one_of_its_tenant_that_a_gateway_wrote() {
        let key = SessionKey::random("a").expect("a key");
        let leases = Leases::default();
        let entry = sealed(&key, "acme", &leases).expect("an entry");
        assert_eq!(opened(&key, "acme", entry.as_bytes()), Some(leases));
        assert_eq!(opened(&key, "other", entry.as_bytes()), None);
        let stranger = SessionKey::random("a").expect("a key");
        assert_eq!(opened(&stranger, "acme", entry.as_bytes()), None);
        let unsealed = entry.split_once(' ').expect("a seal").1;
        for wrong in ["", "{}", unsealed, &format!(" {unsealed}"), &format!("{entry} ")] {
            assert_eq!(opened(&key, "acme", wrong.as_bytes()), None, "{wrong}");
        }
    }
}
