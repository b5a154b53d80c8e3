//! What an operator decides about the HTTP door: bounds, who may come in, and what each tenant gets.
//!
//! Plain data with safe defaults, read from a file by whoever starts the door.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use carboy_protocol::Policy;
use carboy_store::RunFiles;
use serde::Deserialize;

use super::tools::{Secret, ToolConfig};
use super::upload_folder::UploadFolder;
use super::webhook::WebhookConfig;

/// The settings of an HTTP door.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DoorConfig {
    /// Where to listen: `ADDRESS:PORT`, or `unix:PATH`.
    pub listen: Option<String>,
    /// Host names under which requests are taken, beside those of loopback. `*` takes every one.
    pub hosts: Vec<String>,
    /// Origins of web pages that may send requests. Without any, a request from a web page is refused.
    pub origins: Vec<String>,
    /// What TLS is spoken with, if it is. A Unix socket has none.
    pub tls: Option<TlsConfig>,
    /// How much a client can take.
    pub bounds: Bounds,
    /// The modules that are imported before runs begin, which models are told of. Whoever starts the door knows.
    #[serde(skip)]
    pub preloads: Vec<String>,
    /// Where uploaded files are, if whoever runs jobs can open them there by their paths. Otherwise their content goes
    /// with each job.
    #[serde(skip)]
    pub uploads: Option<Arc<UploadFolder>>,
    /// Where files go that runs of a fleet leave.
    pub store: Option<StoreConfig>,
    /// The same, ready for use. Whoever starts the door makes it, and gives it to the gateway too.
    #[serde(skip)]
    pub stored: Option<RunFiles>,
    /// Who may come in.
    pub tenants: BTreeMap<String, TenantConfig>,
}

/// A bucket of an object store that speaks S3's protocol.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoreConfig {
    /// `https://HOST[:PORT]`, without the bucket in it.
    pub endpoint: String,
    /// The bucket.
    pub bucket: String,
    /// Its region.
    #[serde(default = "usual_region")]
    pub region: String,
    /// The id of the access key.
    pub key_id: Secret,
    /// Its secret.
    pub secret: Secret,
}

fn usual_region() -> String {
    "us-east-1".into()
}

/// What TLS is spoken with. The files are read at the start.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsConfig {
    /// A file with the certificate and those that lead to its authority, in PEM, its own first.
    pub certificate: PathBuf,
    /// A file with its private key, in PEM.
    pub key: PathBuf,
}

/// How much clients can take of a door, each and together.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bounds {
    /// Connections at once. A new one takes the place of whichever has been idle longest.
    pub connections: usize,
    /// Bytes of a request's line and headers.
    pub header_bytes: usize,
    /// How long a connection may take until the headers of its next request are there.
    pub header_ms: u64,
    /// Bytes of a request's body.
    pub body_bytes: usize,
    /// Bytes of all bodies together, from the first byte until their runs are over.
    pub bodies_bytes: usize,
    /// How long a body may take.
    pub body_ms: u64,
    /// How long a client may take nothing of an answer.
    pub write_ms: u64,
    /// How long runs under way are waited for when the door closes. What still runs then is cancelled, and
    /// answered as such.
    pub drain_ms: u64,
    /// Files that runs left and that are kept, of all tenants.
    pub files_bytes: u64,
    /// Uploaded files, of all tenants.
    pub uploads_bytes: u64,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            connections: 1024,
            header_bytes: 16 << 10,
            header_ms: 30_000,
            body_bytes: carboy_protocol::pipe::MAX_LINE,
            bodies_bytes: 256 << 20,
            body_ms: 30_000,
            write_ms: 30_000,
            drain_ms: 60_000,
            files_bytes: 1 << 30,
            uploads_bytes: 4 << 30,
        }
    }
}

impl Bounds {
    pub(super) fn header_time(&self) -> Duration {
        Duration::from_millis(self.header_ms)
    }

    pub(super) fn body_time(&self) -> Duration {
        Duration::from_millis(self.body_ms)
    }

    pub(super) fn write_time(&self) -> Duration {
        Duration::from_millis(self.write_ms)
    }

    pub(super) fn drain_time(&self) -> Duration {
        Duration::from_millis(self.drain_ms)
    }
}

/// What one tenant gets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TenantConfig {
    /// The keys that speak for it.
    pub keys: Vec<KeyConfig>,
    /// No run of it gets more than this, and one that names no policy gets exactly this.
    pub ceiling: Policy,
    /// Runs under way at once, those that wait for a place among them.
    pub runs_at_once: usize,
    /// Sessions open at once, branches among them. With none there are no sessions.
    pub sessions_at_once: usize,
    /// Whether those two hold exactly over all gateways of a fleet, and not within a second of drift.
    pub exact: bool,
    /// Runs begun in a second, in the long run. `None` means that only the other bounds hold.
    pub runs_per_second: Option<f64>,
    /// Runs that may begin at once after a pause, where `runs_per_second` is set.
    pub burst: u32,
    /// Processor time in a minute, in seconds, in the long run. `None` means that only the other bounds hold.
    pub cpu_seconds_per_minute: Option<f64>,
    /// Bytes of files that its runs left and that are kept.
    pub files_bytes: u64,
    /// Bytes of its uploaded files.
    pub uploads_bytes: u64,
    /// Where its jobs may tell of their ends. Without it they tell nobody.
    pub webhooks: Option<WebhookConfig>,
    /// Functions that its code may call, and that this server calls over HTTP.
    pub tools: BTreeMap<String, ToolConfig>,
}

impl Default for TenantConfig {
    fn default() -> TenantConfig {
        TenantConfig {
            keys: vec![],
            ceiling: Policy::default(),
            runs_at_once: 64,
            sessions_at_once: 16,
            exact: false,
            runs_per_second: None,
            burst: 16,
            cpu_seconds_per_minute: None,
            files_bytes: 256 << 20,
            uploads_bytes: 1 << 30,
            webhooks: None,
            tools: BTreeMap::new(),
        }
    }
}

/// One key: what is known of it is its digest.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// SHA-256 of the key's text, in hexadecimal.
    pub sha256: String,
    /// What it may be used for.
    #[serde(default = "Scope::usual")]
    pub scopes: Vec<Scope>,
    /// Until when: `2027-01-31`, or `2027-01-31T12:00:00Z`, in UTC.
    #[serde(default)]
    pub expires: Option<String>,
}

/// What a key may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// To start and to cancel runs, and to check code.
    Run,
    /// To look at runs and policies.
    Read,
    /// To read what the door counts, of all tenants.
    Metrics,
}

impl Scope {
    /// What a key is for if its scopes are not named.
    pub fn usual() -> Vec<Scope> {
        vec![Scope::Run, Scope::Read]
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Scope::Run => "run",
            Scope::Read => "read",
            Scope::Metrics => "metrics",
        }
    }
}
