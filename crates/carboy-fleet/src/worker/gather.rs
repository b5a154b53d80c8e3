//! Pieces of what is larger than a message, until the last of them comes.
//!
//! A piece that is lost makes the rest useless. It is dropped when the last one comes, or when nothing came for some time, and the
//! gateway sends all of it again.

use std::collections::HashMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use crate::message::MAX_ASK;

/// All pieces of all runs together.
const ALL: usize = 256 << 20;

/// Nothing of a run came for as long: nothing will.
const SILENCE: Duration = Duration::from_secs(5);

/// The pieces of one run.
struct Pieces {
    body: BytesMut,
    next: u32,
    heard: Duration,
}

/// The pieces that came.
#[derive(Default)]
pub(super) struct Gather {
    runs: HashMap<String, Pieces>,
    bytes: usize,
}

impl Gather {
    /// One more piece. Those of a run come in order; the first of them begins anew.
    pub fn piece(&mut self, run: &str, number: u32, piece: &Bytes, now: Duration) {
        if number == 0 {
            self.forget(run);
            let pieces = Pieces { body: BytesMut::new(), next: 0, heard: now };
            self.runs.insert(run.to_owned(), pieces);
        }
        let Some(pieces) = self.runs.get_mut(run) else { return };
        let is_next = pieces.next == number;
        let fits = pieces.body.len() + piece.len() <= MAX_ASK && self.bytes + piece.len() <= ALL;
        if is_next && fits {
            pieces.body.extend_from_slice(piece);
            (pieces.next, pieces.heard) = (number + 1, now);
            self.bytes += piece.len();
        } else {
            self.forget(run);
        }
    }

    /// The whole, with the last piece; none if something is missing.
    pub fn whole(&mut self, run: &str, count: u32, last: &Bytes) -> Option<Bytes> {
        let mut pieces = self.take(run)?;
        if pieces.next != count || pieces.body.len() + last.len() > MAX_ASK {
            return None;
        }
        pieces.body.extend_from_slice(last);
        Some(pieces.body.freeze())
    }

    /// Drops what nobody will complete.
    pub fn sweep(&mut self, now: Duration) {
        let old = |pieces: &Pieces| now.saturating_sub(pieces.heard) >= SILENCE;
        let silent: Vec<String> = self
            .runs
            .iter()
            .filter(|(_, pieces)| old(pieces))
            .map(|(run, _)| run.clone())
            .collect();
        silent.iter().for_each(|run| self.forget(run));
    }

    fn forget(&mut self, run: &str) {
        drop(self.take(run));
    }

    fn take(&mut self, run: &str) -> Option<Pieces> {
        let pieces = self.runs.remove(run)?;
        self.bytes -= pieces.body.len();
        Some(pieces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn a_whole_needs_every_piece_in_order_and_comes_once() {
        let mut gather = Gather::default();
        let [a, b, c] = ["a", "b", "c"].map(Bytes::from);
        gather.piece("r", 0, &a, NOW);
        gather.piece("r", 1, &b, NOW);
        gather.piece("q", 0, &b, NOW);
        assert_eq!(gather.whole("r", 2, &c).as_deref(), Some(&b"abc"[..]));
        assert_eq!(gather.whole("r", 2, &c), None);
        // The second of two was lost.
        assert_eq!(gather.whole("q", 2, &c), None);
        // The first was lost, and then all of it came again.
        gather.piece("r", 1, &b, NOW);
        gather.piece("r", 0, &a, NOW);
        gather.piece("r", 1, &b, NOW);
        assert_eq!(gather.whole("r", 2, &c).as_deref(), Some(&b"abc"[..]));
        assert_eq!(gather.bytes, 0);
    }

    #[test]
    fn what_is_too_large_or_never_completed_is_dropped() {
        let mut gather = Gather::default();
        let large = Bytes::from(vec![0; MAX_ASK / 2 + 1]);
        gather.piece("r", 0, &large, NOW);
        gather.piece("r", 1, &large, NOW);
        assert_eq!((gather.runs.len(), gather.bytes), (0, 0));
        for run in 0..10 {
            gather.piece(&run.to_string(), 0, &large, NOW);
        }
        assert!(gather.bytes <= ALL);
        gather.sweep(SILENCE);
        assert_eq!((gather.runs.len(), gather.bytes), (0, 0));
    }
}
