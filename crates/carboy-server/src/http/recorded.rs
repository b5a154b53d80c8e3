//! The records that a door shows, wherever they are kept.
//!
//! A number in their chain would tell a tenant how much others run, so none is shown: what a list goes on from is a
//! word that only this process can read.

use std::io;
use std::sync::{Arc, OnceLock};

use carboy_engine::new_id;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use super::problem::Problem;

/// How many requests read records at once, each on a thread.
const READERS: usize = 2;

/// Which records are wanted.
#[derive(Clone, Debug, Default)]
pub struct RecordsQuery {
    /// Of this tenant only.
    pub tenant: String,
    /// `ok`, `error`, `failed` or `abandoned`.
    pub status: Option<String>,
    /// The kind of the error.
    pub kind: Option<String>,
    /// Not before this time, or not older than this.
    pub since: Option<String>,
    /// Before this time.
    pub until: Option<String>,
    /// Those before this one in the order of the store.
    pub before: Option<i64>,
    /// At most so many.
    pub most: usize,
}

/// Some of a list, the newest first.
#[derive(Debug, Default)]
pub struct RecordsPage {
    /// What each record says in short.
    pub rows: Vec<Value>,
    /// Where to go on, if there may be more.
    pub before: Option<i64>,
}

/// Why there is no list.
#[derive(Debug)]
pub enum RecordsFault {
    /// The query cannot be used: why.
    Query(String),
    /// They cannot be read.
    Read(io::Error),
}

/// Where records are kept. It is called on threads on which it may block.
pub trait Records: Send + Sync {
    /// Records of a tenant. It looks at a bounded number of them, and may find none among these.
    fn list(&self, query: &RecordsQuery) -> Result<RecordsPage, RecordsFault>;

    /// All that a tenant may know of one of its runs, by its whole id.
    fn find(&self, tenant: &str, id: &str) -> io::Result<Option<Value>>;
}

/// The records that a door shows.
#[derive(Default)]
pub(super) struct Shown {
    records: OnceLock<Arc<dyn Records>>,
    readers: OnceLock<Semaphore>,
    secret: OnceLock<String>,
}

impl Shown {
    /// Shows these from now on.
    pub fn set(&self, records: Arc<dyn Records>) {
        // Who was told first is asked.
        self.records.set(records).ok();
    }

    pub fn get(&self) -> Result<Arc<dyn Records>, Problem> {
        let none =
            || Problem::not_found().hint("this server keeps no records; --store has it keep them");
        self.records.get().cloned().ok_or_else(none)
    }

    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let readers = self.readers.get_or_init(|| Semaphore::new(READERS));
        let _reader = readers.acquire().await.map_err(|_closed| Problem::engine())?;
        tokio::task::spawn_blocking(work).await.map_err(|_panic| Problem::engine())
    }

    fn pad(&self, nonce: &str) -> Option<u64> {
        let secret = match self.secret.get() {
            Some(secret) => secret,
            None => {
                let made = new_id().ok()?;
                self.secret.get_or_init(|| made)
            }
        };
        let digest: [u8; 32] = Sha256::digest(format!("{secret}{nonce}")).into();
        let mut first = [0; 8];
        first.copy_from_slice(&digest[..8]);
        Some(u64::from_be_bytes(first))
    }

    /// A place in the store as a word.
    pub fn word(&self, place: i64) -> Option<String> {
        let nonce = new_id().ok()?.get(..16)?.to_owned();
        let pad = self.pad(&nonce)?;
        Some(format!("{nonce}{:016x}", place.cast_unsigned() ^ pad))
    }

    /// The place that a word means. One that was not ours means any.
    pub fn place(&self, word: &str) -> Option<i64> {
        let is_hex = word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        let (nonce, sealed) = is_hex.then(|| word.split_at(16))?;
        let sealed = u64::from_str_radix(sealed, 16).ok()?;
        Some((sealed ^ self.pad(nonce)?).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_a_word_that_says_nothing() {
        let shown = Shown::default();
        let words: Vec<_> = (0..3).map(|_| shown.word(7).expect("a word")).collect();
        assert!(words[0] != words[1] && words[1] != words[2]);
        for word in &words {
            assert_eq!(shown.place(word), Some(7));
        }
        assert_ne!(Shown::default().place(&words[0]), Some(7));
        for wrong in ["", "7", "x", &"g".repeat(32), &"0".repeat(33)] {
            assert_eq!(shown.place(wrong), None, "{wrong}");
        }
    }
}
