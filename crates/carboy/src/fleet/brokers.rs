//! Where the brokers of a fleet are, and who this process is to them: the options, and the connections.

use std::path::{Path, PathBuf};

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
        NatsBus::connect(&options).await.map_err(|error| bus_failure(&error))
    }

    /// What ids of sessions are signed with: this file, what is in the folder, or for a gateway that is alone a new one.
    pub fn session_key(&self, file: Option<&Path>) -> Result<SessionKey, Failure> {
        let kept = self.credentials.as_ref().map(|folder| folder.join("session.key"));
        let file = file.map(Path::to_owned).or(kept.filter(|file| file.exists()));
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

/// A failure of the bus, with what to do about it.
pub fn bus_failure(error: &BusError) -> Failure {
    let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    let message = causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"));
    Failure::usage(message, error.hint())
}
