//! The settings of the brokers.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::permissions::User;

/// Where clients reach a broker: a name or an address of its host, and a port.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct BrokerPlace {
    /// The host, as clients and other brokers name it.
    pub host: String,
    /// The port for clients.
    pub port: u16,
}

/// The port that everybody expects.
const USUAL: u16 = 4222;

/// From the port for clients to that for other brokers, and to that for monitoring: 6222 and 8222 usually.
const TO_ROUTES: u16 = 2000;
const TO_MONITORING: u16 = 4000;

/// The text names no place of a broker.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no place of a broker: write HOST or HOST:PORT, with a port of at most 61535")]
pub struct WrongPlace(String);

impl BrokerPlace {
    /// So many brokers on this machine, for a trial.
    pub fn here(count: u16) -> Vec<BrokerPlace> {
        (0..count.min(100))
            .map(|index| BrokerPlace { host: "127.0.0.1".into(), port: USUAL + index })
            .collect()
    }

    /// The address for clients.
    pub fn url(&self) -> String {
        format!("tls://{self}")
    }

    /// Where it answers `/healthz`, on its own host.
    pub fn monitoring(&self) -> u16 {
        self.port + TO_MONITORING
    }

    fn route(&self) -> BrokerPlace {
        BrokerPlace { host: self.host.clone(), port: self.port + TO_ROUTES }
    }
}

impl FromStr for BrokerPlace {
    type Err = WrongPlace;

    fn from_str(text: &str) -> Result<BrokerPlace, WrongPlace> {
        let wrong = || WrongPlace(text.to_owned());
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_error| wrong())?),
            None => (text, USUAL),
        };
        // It stands in a file of settings, in a certificate and in an address.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
        let fits = !host.is_empty() && host.bytes().all(plain);
        if !fits || port == 0 || port.checked_add(TO_MONITORING).is_none() {
            return Err(wrong());
        }
        Ok(BrokerPlace { host: host.to_owned(), port })
    }
}

impl TryFrom<String> for BrokerPlace {
    type Error = WrongPlace;

    fn try_from(text: String) -> Result<BrokerPlace, WrongPlace> {
        text.parse()
    }
}

impl From<BrokerPlace> for String {
    fn from(place: BrokerPlace) -> String {
        place.to_string()
    }
}

impl fmt::Display for BrokerPlace {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(form, "{}:{}", self.host, self.port)
    }
}

/// Where a broker's files are, below the folder of the fleet.
pub fn folder(index: usize) -> String {
    format!("brokers/b{}", index + 1)
}

/// `nats.conf`. Paths in it are relative to where the broker is started: the folder it lies in.
pub fn settings(index: usize, brokers: &[BrokerPlace], users: &[User]) -> String {
    let own = &brokers[index];
    let users: String = users.iter().map(User::settings).collect();
    let number = index + 1;
    let monitoring = own.monitoring();
    // On one machine each takes its own address; otherwise hosts often do not know the one by which others name them.
    let listen = if own.host.starts_with("127.") { own.host.as_str() } else { "0.0.0.0" };
    let port = own.port;
    let mut text = format!(
        r#"# Broker {number} of a fleet. Start it in this folder: nats-server --config nats.conf
# `carboy fleet init` writes this file anew; nats-server --signal reload reads it again.
server_name: b{number}
listen: "{listen}:{port}"
# For /healthz and /jsz; it has no password, so it is for this host alone.
http: "127.0.0.1:{monitoring}"

# A reader that takes nothing is cut off after this long, so that others do not wait for it.
write_deadline: "2s"
# A client or a broker whose link is cut is noticed after three of these.
ping_interval: "2s"
ping_max: 2
# Larger jobs and outcomes are sent in parts.
max_payload: 1MB
max_pending: 64MB

tls {{
  cert_file: "broker.pem"
  key_file: "broker.key"
  ca_file: "ca.pem"
  verify: true
  timeout: 10
}}

jetstream {{
  store_dir: "jetstream"
  max_memory_store: 1GB
  max_file_store: 30GB
}}

accounts {{
  CARBOY {{
    jetstream: enabled
    users: [
{users}    ]
  }}
  SYSTEM {{ }}
}}
system_account: SYSTEM
"#
    );
    if brokers.len() > 1 {
        let others: Vec<String> = brokers
            .iter()
            .filter(|broker| *broker != own)
            .map(|broker| format!("    \"tls://{}\"\n", broker.route()))
            .collect();
        let route = own.route().port;
        let routes = others.concat();
        text += &format!(
            r#"
cluster {{
  name: carboy
  listen: "{listen}:{route}"
  # Certificates of their own: whoever may connect as a client must not pass for a broker.
  tls {{
    cert_file: "route.pem"
    key_file: "route.key"
    ca_file: "routes-ca.pem"
    verify: true
    timeout: 10
  }}
  routes: [
{routes}  ]
}}
"#
        );
    }
    text
}
