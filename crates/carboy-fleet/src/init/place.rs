//! The files of a fleet: written whole, for their owner alone, and kept where they are there already.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::PathBuf;

use nkeys::KeyPair;

/// Why no fleet was laid out.
#[derive(Debug, thiserror::Error)]
pub enum InitError {
    /// JetStream decides by majority: a cluster of two is worse than one of one.
    #[error("a fleet has 1, 3 or 5 brokers, not {0}")]
    Brokers(usize),
    /// Two brokers would be one.
    #[error("two brokers are at {0}")]
    SamePlace(String),
    /// A file that is there already is not what it should be.
    #[error("{} cannot be used: {why}", .file.display())]
    Unusable {
        /// Which one.
        file: PathBuf,
        /// Why.
        why: String,
    },
    /// The operating system refused.
    #[error("could not {step} {}", .file.display())]
    Os {
        /// What we were doing.
        step: &'static str,
        /// To which file.
        file: PathBuf,
        /// Why.
        #[source]
        error: io::Error,
    },
    /// A key or a certificate could not be made.
    #[error("could not make {what}: {why}")]
    Make {
        /// What.
        what: &'static str,
        /// Why.
        why: String,
    },
}

impl InitError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            InitError::Brokers(_) => "name 1 for a trial, 3 for a fleet, 5 to survive two losses",
            InitError::SamePlace(_) => "give each another host, or another port: host:4223",
            InitError::Unusable { .. } => {
                "remove the file to have it made anew; whoever uses the old one then needs the new one"
            }
            InitError::Os { .. } => "choose a folder that you can write to",
            InitError::Make { .. } => "try again; report it if it stays so",
        }
    }
}

/// The folder in which everything is written. Only its owner reads what is in it.
pub struct Place(pub PathBuf);

impl Place {
    pub fn folder(&self, name: &str) -> Result<(), InitError> {
        let folder = self.0.join(name);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(|error| InitError::Os { step: "make", file: folder, error })
    }

    /// The seed of a user's key, made if it is not there. Returns the public half.
    pub fn nkey(&self, home: &str) -> Result<String, InitError> {
        let name = format!("{home}/nkey");
        let wrong = |error: nkeys::error::Error| InitError::Unusable {
            file: self.0.join(&name),
            why: error.to_string(),
        };
        let seed = self.once(&name, || {
            let seed = KeyPair::new_user().seed();
            let seed =
                seed.map_err(|error| InitError::Make { what: "a key", why: error.to_string() })?;
            Ok(seed + "\n")
        })?;
        Ok(KeyPair::from_seed(seed.trim()).map_err(wrong)?.public_key())
    }

    /// What the file has; if it is not there, it is made.
    pub fn once(
        &self,
        name: &str,
        make: impl FnOnce() -> Result<String, InitError>,
    ) -> Result<String, InitError> {
        if let Some(text) = self.read(name)? {
            return Ok(text);
        }
        let text = make()?;
        self.write(name, &text)?;
        Ok(text)
    }

    pub fn read(&self, name: &str) -> Result<Option<String>, InitError> {
        let file = self.0.join(name);
        let mut text = String::new();
        match File::open(&file).and_then(|mut file| file.read_to_string(&mut text)) {
            Ok(_) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(InitError::Os { step: "read", file, error }),
        }
    }

    /// Writes a file so that it is there whole or not at all, for its owner alone.
    pub fn write(&self, name: &str, text: &str) -> Result<(), InitError> {
        let file = self.0.join(name);
        let new = self.0.join(format!("{name}.new"));
        let written = OpenOptions::new()
            .create(true)
            .truncate(true)
            .write(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut open| open.write_all(text.as_bytes()).and_then(|()| open.sync_all()))
            .and_then(|()| std::fs::rename(&new, &file));
        written.map_err(|error| InitError::Os { step: "write", file, error })
    }
}
