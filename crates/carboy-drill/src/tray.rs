//! Where what an attack leaves is collected, and looked through for what it must not hold.
//!
//! Every attack is also one on the collection of artifacts: a link that is followed or a file that is swapped
//! shows as the secret among what was kept.

use std::io::{self, Read};
use std::sync::{Mutex, PoisonError};

use carboy_engine::Keeper;
use carboy_protocol::Artifact;

/// How much of a file is kept: what is searched for is at the beginning of a short one.
const MOST: u64 = 64 << 10;

/// The beginnings of all artifacts of an attack.
#[derive(Debug, Default)]
pub(crate) struct Tray(Mutex<Vec<Vec<u8>>>);

impl Tray {
    /// Whether some artifact holds a text.
    pub fn holds(&self, text: &str) -> bool {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().any(|piece| piece.windows(text.len()).any(|window| window == text.as_bytes()))
    }
}

impl Keeper for Tray {
    fn keep(&self, _run: &str, _artifact: &Artifact, content: &mut dyn Read) -> io::Result<()> {
        let mut piece = Vec::new();
        (&mut *content).take(MOST).read_to_end(&mut piece)?;
        io::copy(content, &mut io::sink())?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
        Ok(())
    }
}
