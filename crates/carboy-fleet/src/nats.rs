//! The bus over a NATS broker.
//!
//! A connection that is lost is made again without end, to any broker of the cluster. What is published meanwhile
//! waits in a bounded line; whoever publishes then waits too.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::client::PublishErrorKind;
use async_nats::connection::State;
use async_nats::{
    Client, ConnectOptions, ReconnectToServer, Server, ServerAddr, StatusCode, SubscribeError,
    Subscriber,
};
use bytes::Bytes;
use futures_util::StreamExt;

use crate::bus::{Bus, BusError, Message, Subscription};
use crate::name::Start;
use crate::random::Random;

/// A broker that says nothing for three times as long is left for another. Whatever it says counts, so a busy
/// connection is not asked.
const PING: Duration = Duration::from_millis(400);

/// How long a broker may take to let us in.
const HANDSHAKE: Duration = Duration::from_secs(2);

/// How long the first connection is tried: brokers and nodes are often started together.
const FIRST: Duration = Duration::from_secs(15);

/// The longest pause before a connection is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// Messages that wait in one subscription.
const WAITING: usize = 65_536;

/// Where the brokers are, and who we are to them.
#[derive(Clone, Debug, Default)]
pub struct NatsOptions {
    /// Addresses, with commas between them: `nats://10.0.0.1:4222,nats://10.0.0.2:4222`.
    pub url: String,
    /// What the broker calls the connection in its lists.
    pub name: String,
    /// The subject below which replies come.
    pub inbox: String,
    /// A file with the seed of an nkey.
    pub nkey: Option<PathBuf>,
    /// A file with the certificates that the brokers' are signed by. With it, the connection is encrypted.
    pub ca: Option<PathBuf>,
    /// Files with our own certificate and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

impl NatsOptions {
    /// The same with a folder of credentials, as `carboy fleet init` makes one for each role.
    pub fn with_credentials(mut self, folder: &Path) -> NatsOptions {
        self.nkey = Some(folder.join("nkey"));
        self.ca = Some(folder.join("ca.pem"));
        self.identity = Some((folder.join("cert.pem"), folder.join("key.pem")));
        self
    }
}

/// One connection to a broker.
#[derive(Clone, Debug)]
pub struct NatsBus {
    client: Client,
    inbox: Arc<str>,
}

impl NatsBus {
    /// Connects. It tries for some seconds before it gives up.
    pub async fn connect(options: &NatsOptions) -> Result<NatsBus, BusError> {
        NatsBus::connect_telling(options, |_| {}).await
    }

    /// The same. Why the first try failed is told at once, if more are made.
    pub async fn connect_telling(
        options: &NatsOptions,
        tell: impl FnOnce(&BusError),
    ) -> Result<NatsBus, BusError> {
        let seed = match &options.nkey {
            Some(file) => Some(seed(file)?),
            None => None,
        };
        let last = Instant::now() + FIRST;
        let (turns, mut tell) = (Arc::new(Turns::new()), Some(tell));
        loop {
            let places: Vec<&str> = options.url.split(',').map(str::trim).collect();
            match configured(options, seed.clone(), turns.clone()).connect(places).await {
                Ok(client) => return Ok(NatsBus { client, inbox: options.inbox.as_str().into() }),
                // A broker that is there and says no will say so again.
                Err(error) => {
                    let is_over = Instant::now() >= last || is_final(error.kind());
                    let place = options.url.clone();
                    let error = BusError::Connect { place, error: Box::new(error) };
                    if is_over {
                        return Err(error);
                    }
                    if let Some(tell) = tell.take() {
                        tell(&error);
                    }
                    tokio::time::sleep(PAUSE / 4).await;
                }
            }
        }
    }

    /// The client, for what only a broker can do.
    pub fn client(&self) -> &Client {
        &self.client
    }
}

fn is_final(kind: async_nats::ConnectErrorKind) -> bool {
    use async_nats::ConnectErrorKind::{Authentication, AuthorizationViolation, ServerParse, Tls};
    matches!(kind, Authentication | AuthorizationViolation | ServerParse | Tls)
}

fn seed(file: &Path) -> Result<String, BusError> {
    let wrong = |error: Box<dyn std::error::Error + Send + Sync>| BusError::Credentials {
        file: file.display().to_string(),
        error,
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.into()))?;
    let seed = text.trim().to_owned();
    // An error of the client's would come without the name of the file.
    nkeys::KeyPair::from_seed(&seed).map_err(|error| wrong(error.into()))?;
    Ok(seed)
}

/// Whose turn it is among the brokers. The one that was tried last is tried again after all others: if its link was cut, that it
/// does not answer takes seconds to find out.
struct Turns(Mutex<(Option<ServerAddr>, Random)>);

impl Turns {
    fn new() -> Turns {
        let seed = Start::random().map_or(0, |Start(seed)| seed);
        Turns(Mutex::new((None, Random::new(seed))))
    }

    fn next(&self, servers: &[Server]) -> Option<ReconnectToServer> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (last, random) = &mut *turns;
        let is_last = |server: &Server| {
            let place = |address: &ServerAddr| (address.host().to_owned(), address.port());
            last.as_ref().is_some_and(|last| place(last) == place(&server.addr))
        };
        let next = servers.iter().min_by_key(|server| {
            let tries = (server.failed_attempts, server.is_discovered);
            (is_last(server), tries, random.below(1 << 16))
        })?;
        let addr = next.addr.clone();
        *last = Some(addr.clone());
        Some(ReconnectToServer { addr, delay: None })
    }
}

fn configured(options: &NatsOptions, seed: Option<String>, turns: Arc<Turns>) -> ConnectOptions {
    let connect = ConnectOptions::new()
        .name(&options.name)
        .custom_inbox_prefix(&options.inbox)
        .ping_interval(PING)
        .connection_timeout(HANDSHAKE)
        .subscription_capacity(WAITING)
        .max_reconnects(None)
        .reconnect_delay_callback(|attempt| {
            // At once to another broker of the cluster, then slower.
            PAUSE.min(Duration::from_millis(25 * (attempt.saturating_sub(1) as u64).min(40)))
        });
    let mut connect = connect.reconnect_to_server_callback(move |servers, _| {
        let next = turns.next(&servers);
        async move { next }
    });
    if let Some(seed) = seed {
        connect = connect.nkey(seed);
    }
    if let Some(ca) = &options.ca {
        connect = connect.add_root_certificates(ca.clone()).require_tls(true);
    }
    if let Some((certificate, key)) = &options.identity {
        connect = connect.add_client_certificate(certificate.clone(), key.clone());
    }
    connect
}

fn heard(messages: Result<Subscriber, SubscribeError>) -> Result<Subscription, BusError> {
    let messages = messages.map_err(|error| BusError::Client {
        step: "listen to a subject",
        error: Box::new(error),
    })?;
    Ok(Subscription::new(messages.map(|message| Message {
        subject: message.subject.into_string(),
        reply: message.reply.map(async_nats::Subject::into_string),
        no_responders: message.status == Some(StatusCode::NO_RESPONDERS),
        payload: message.payload,
    })))
}

impl Bus for NatsBus {
    async fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        payload: Bytes,
    ) -> Result<(), BusError> {
        let bytes = payload.len();
        let sent = match reply {
            Some(reply) => self.client.publish_with_reply(subject, reply, payload).await,
            None => self.client.publish(subject, payload).await,
        };
        sent.map_err(|error| match error.kind() {
            PublishErrorKind::MaxPayloadExceeded => {
                BusError::TooLarge { bytes, most: self.max_payload() }
            }
            PublishErrorKind::Send => BusError::Closed,
            _ => BusError::Client { step: "publish a message", error: Box::new(error) },
        })
    }

    async fn subscribe(&self, subject: String) -> Result<Subscription, BusError> {
        heard(self.client.subscribe(subject).await)
    }

    async fn subscribe_in(
        &self,
        subject: String,
        group: &'static str,
    ) -> Result<Subscription, BusError> {
        heard(self.client.queue_subscribe(subject, group.into()).await)
    }

    async fn flush(&self) -> Result<(), BusError> {
        self.client
            .flush()
            .await
            .map_err(|error| BusError::Client { step: "reach the broker", error: Box::new(error) })
    }

    fn max_payload(&self) -> usize {
        self.client.max_payload()
    }

    fn inbox(&self) -> &str {
        &self.inbox
    }

    fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    fn connects(&self) -> u64 {
        self.client.statistics().connects.load(Ordering::Relaxed)
    }

    async fn renew(&self) {
        // One that is closed has nothing to renew.
        self.client.force_reconnect().await.ok();
    }
}
