//! Where the brokers of a fleet are, and who this process is to them: the options, and the connections.

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use carboy_fleet::name::{BadName, NodeName};
use carboy_fleet::{BusError, NatsBus, NatsOptions, SessionKey};
use clap::Args;

use crate::failure::Failure;

/// Who we are to the brokers.
#[derive(Args, Clone, Default)]
pub struct Credentials {
    /// A folder with all credentials of this process, as `carboy fleet init` makes one for each role
    #[arg(long, value_name = "DIR")]
    pub credentials: Option<PathBuf>,
    /// A file with the seed of the nkey that the brokers know this process by
    #[arg(long, value_name = "FILE")]
    pub nats_nkey: Option<PathBuf>,
    /// A file with the certificates that the brokers' are signed by; the connection is then encrypted
    #[arg(long, value_name = "FILE")]
    pub nats_ca: Option<PathBuf>,
    /// A file with the certificate of this process
    #[arg(long, value_name = "FILE", requires = "nats_key")]
    pub nats_cert: Option<PathBuf>,
    /// A file with the key of that certificate
    #[arg(long, value_name = "FILE", requires = "nats_cert")]
    pub nats_key: Option<PathBuf>,
}

impl Credentials {
    /// Connects under this name, with replies below `inbox`.
    pub async fn connect(&self, url: &str, name: &str, inbox: &str) -> Result<NatsBus, Failure> {
        let options = NatsOptions {
            url: url.into(),
            name: name.into(),
            inbox: inbox.into(),
            ..NatsOptions::default()
        };
        let folder = match &self.credentials {
            Some(folder) => options.with_credentials(folder),
            None => options,
        };
        let options = NatsOptions {
            nkey: self.nats_nkey.clone().or(folder.nkey),
            ca: self.nats_ca.clone().or(folder.ca),
            identity: self.nats_cert.clone().zip(self.nats_key.clone()).or(folder.identity),
            ..folder
        };
        connect(&options).await
    }

    /// The node that the folder is for, if it says so.
    pub fn node(&self) -> Result<Option<NodeName>, Failure> {
        let Some(folder) = &self.credentials else { return Ok(None) };
        let file = folder.join("node");
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            // One of another make, or of before this was written.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(not_a_name(&file, &error.to_string())),
        };
        let name =
            text.trim().parse().map_err(|error: BadName| not_a_name(&file, &error.to_string()))?;
        Ok(Some(name))
    }

    /// The name of a worker with these credentials: brokers let it be no other.
    pub fn node_name(&self, wanted: Option<NodeName>) -> Result<NodeName, Failure> {
        match (wanted, self.node()?) {
            (Some(wanted), Some(own)) if wanted != own => {
                let folder = self.credentials.clone().unwrap_or_default();
                Err(Failure::usage(
                    format!(
                        "the credentials in {} are for the node {own}, not for {wanted}",
                        folder.display()
                    ),
                    format!(
                        "leave --node out, or name the folder of {wanted}: --credentials FLEET/workers/{wanted}"
                    ),
                ))
            }
            (wanted, own) => Ok(wanted.or(own).unwrap_or_else(NodeName::of_machine)),
        }
    }

    /// The file with the key that gateways share, if there is one.
    pub fn session_key_file(&self, file: Option<&Path>) -> Option<PathBuf> {
        let kept = self.credentials.as_ref().map(|folder| folder.join("session.key"));
        file.map(Path::to_owned).or(kept.filter(|file| file.exists()))
    }

    /// What ids of sessions are signed with: this file, what is in the folder, or for a gateway that is alone a new one.
    pub fn session_key(&self, file: Option<&Path>) -> Result<SessionKey, Failure> {
        let file = self.session_key_file(file);
        let key = match &file {
            Some(file) => SessionKey::read(file),
            None => SessionKey::random("alone"),
        };
        key.map_err(|error| {
            let file = file.unwrap_or_default();
            Failure::usage(
                format!("cannot use the key of sessions {}: {error}", file.display()),
                "all gateways of a fleet need the same: `carboy fleet init` makes one",
            )
        })
    }
}

fn not_a_name(file: &Path, why: &str) -> Failure {
    Failure::usage(
        format!("cannot read the name of a node in {}: {why}", file.display()),
        "`carboy fleet init` writes it: copy the whole folder of the node",
    )
}

/// Connects. Brokers are often started together with everything else, so it is tried for some seconds; that the
/// first try failed is said at once.
pub async fn connect(options: &NatsOptions) -> Result<NatsBus, Failure> {
    let tell = |error: &BusError| {
        let line = format!("{}; it is tried again for some seconds\n", with_causes(error));
        std::io::stderr().write_all(line.as_bytes()).ok();
    };
    NatsBus::connect_telling(options, tell).await.map_err(|error| bus_failure(&error))
}

fn with_causes(error: &BusError) -> String {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// A failure of the bus, with what to do about it.
pub fn bus_failure(error: &BusError) -> Failure {
    Failure::usage(with_causes(error), error.hint())
}
