//! Length-prefixed frames: four bytes of length, most significant first, then that many bytes.
//!
//! The decoder is fed whatever a pipe yields and never trusts a length: it holds the bytes it was
//! given and nothing more, and a length above its bound is a fault before any of the body is kept.
//!
//! ```
//! use carboy_protocol::frame::{self, Decoder};
//! let mut decoder = Decoder::new(1024);
//! decoder.feed(&frame::encode(b"{}")?)?;
//! assert_eq!(decoder.next(), Some(b"{}".to_vec()));
//! # Ok::<(), frame::FrameFault>(())
//! ```

/// How many bytes stand before a body.
pub const HEADER: usize = 4;

/// What is wrong with a stream of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameFault {
    /// A frame claims, or would have, more bytes than allowed.
    TooLong {
        /// The length claimed.
        claimed: u64,
        /// The longest allowed.
        allowed: u64,
    },
    /// The stream ended inside a frame.
    Cut {
        /// How many bytes of the unfinished frame had come.
        received: usize,
    },
}

impl std::fmt::Display for FrameFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FrameFault::TooLong { claimed, allowed } => {
                write!(f, "a frame of {claimed} bytes where {allowed} are allowed")
            }
            FrameFault::Cut { received } => {
                write!(f, "the stream ended {received} bytes into a frame")
            }
        }
    }
}

impl std::error::Error for FrameFault {}

/// One body with its header.
pub fn encode(body: &[u8]) -> Result<Vec<u8>, FrameFault> {
    let length = u32::try_from(body.len()).map_err(|_| FrameFault::TooLong {
        claimed: body.len() as u64,
        allowed: u64::from(u32::MAX),
    })?;
    let mut bytes = Vec::with_capacity(HEADER + body.len());
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(body);
    Ok(bytes)
}

/// Takes frames out of a stream that comes in pieces of any size.
#[derive(Debug)]
pub struct Decoder {
    held: Vec<u8>,
    max_body: usize,
}

impl Decoder {
    /// A decoder for bodies of at most `max_body` bytes.
    pub fn new(max_body: usize) -> Decoder {
        Decoder { held: Vec::new(), max_body }
    }

    /// Takes the next piece of the stream. Faults as soon as a header claims too much.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), FrameFault> {
        self.held.extend_from_slice(piece);
        let mut at = 0;
        while let Some(claimed) = claimed_at(&self.held, at) {
            if claimed > self.max_body {
                // What follows cannot be a frame; only its header is kept, to say so again.
                self.held.truncate(at + HEADER);
                let allowed = self.max_body as u64;
                return Err(FrameFault::TooLong { claimed: claimed as u64, allowed });
            }
            at += HEADER + claimed;
        }
        Ok(())
    }

    /// The next whole body, if it has come.
    #[allow(clippy::should_implement_trait, reason = "a decoder is fed between calls")]
    pub fn next(&mut self) -> Option<Vec<u8>> {
        let end = HEADER + claimed_at(&self.held, 0)?;
        if self.held.len() < end {
            return None;
        }
        let rest = self.held.split_off(end);
        let mut body = std::mem::replace(&mut self.held, rest);
        body.drain(..HEADER);
        Some(body)
    }

    /// The length that the next frame claims, and what has come of its body.
    pub fn begun(&self) -> Option<(usize, &[u8])> {
        let claimed = claimed_at(&self.held, 0)?;
        let body = &self.held[HEADER..];
        Some((claimed, &body[..body.len().min(claimed)]))
    }

    /// Allows less from here on. A fault if a frame that is held claims more.
    pub fn lower(&mut self, max_body: usize) -> Result<(), FrameFault> {
        self.max_body = max_body;
        self.feed(&[])
    }

    /// How many bytes are held for frames that are not whole yet.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// To be called at the end of the stream: a fault if it ended inside a frame.
    pub fn finish(&self) -> Result<(), FrameFault> {
        match self.held.len() {
            0 => Ok(()),
            received => Err(FrameFault::Cut { received }),
        }
    }
}

fn claimed_at(held: &[u8], at: usize) -> Option<usize> {
    let header: [u8; HEADER] = held.get(at..at + HEADER)?.try_into().ok()?;
    usize::try_from(u32::from_be_bytes(header)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let mut decoder = Decoder::new(1 << 30);
        decoder.feed(&[0x3f, 0xff, 0xff, 0xff, b'x']).unwrap();
        assert_eq!(decoder.next(), None);
        assert!(decoder.held.capacity() < 64);
        assert_eq!(decoder.finish(), Err(FrameFault::Cut { received: 5 }));
    }

    #[test]
    fn a_frame_that_has_begun_can_become_too_long() {
        let mut decoder = Decoder::new(100);
        assert_eq!(decoder.begun(), None);
        let fault = FrameFault::TooLong { claimed: 50, allowed: 10 };
        decoder.feed(&[0, 0, 0, 50, b'a', b'b']).unwrap();
        assert_eq!(decoder.begun(), Some((50, b"ab".as_slice())));
        decoder.lower(50).unwrap();
        assert_eq!(decoder.lower(10), Err(fault));
        // Nothing of it is kept, however much comes.
        assert_eq!(decoder.feed(&[b'x'; 1000]), Err(fault));
        assert_eq!(decoder.held(), HEADER);
    }

    #[test]
    fn too_long_is_said_at_the_header() {
        let mut decoder = Decoder::new(10);
        let fault = decoder.feed(&[0xff; 4]).unwrap_err();
        assert_eq!(fault, FrameFault::TooLong { claimed: u64::from(u32::MAX), allowed: 10 });
    }

    #[test]
    fn a_second_header_is_judged_too() {
        let mut decoder = Decoder::new(10);
        let mut bytes = encode(b"ok").unwrap();
        bytes.extend_from_slice(&[0, 0, 0, 11]);
        assert!(decoder.feed(&bytes).is_err());
    }

    #[test]
    fn an_empty_frame_is_a_frame() {
        let mut decoder = Decoder::new(0);
        decoder.feed(&[0, 0, 0, 0]).unwrap();
        assert_eq!(decoder.next(), Some(Vec::new()));
        assert_eq!(decoder.finish(), Ok(()));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
            cuts in prop::collection::vec(1usize..9, 1..80),
        ) {
            let stream: Vec<u8> = bodies.iter().flat_map(|body| encode(body).unwrap()).collect();
            let mut decoder = Decoder::new(64);
            let mut seen = Vec::new();
            let mut rest = stream.as_slice();
            let mut cuts = cuts.iter().cycle();
            while !rest.is_empty() {
                let (piece, tail) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                decoder.feed(piece).unwrap();
                while let Some(body) = decoder.next() {
                    seen.push(body);
                }
                rest = tail;
            }
            prop_assert_eq!(seen, bodies);
            prop_assert_eq!(decoder.finish(), Ok(()));
        }

        #[test]
        fn any_bytes_are_survived(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..32), 0..16)) {
            let mut decoder = Decoder::new(48);
            for piece in &pieces {
                if decoder.feed(piece).is_err() {
                    break;
                }
                while let Some(body) = decoder.next() {
                    prop_assert!(body.len() <= 48);
                }
            }
        }
    }
}
