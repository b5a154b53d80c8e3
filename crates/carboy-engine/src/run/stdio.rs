//! What the code prints: its beginning and its end are kept, and all of it is passed on to whoever
//! listens.

use std::collections::VecDeque;
use std::time::Duration;

use carboy_protocol::{Limits, Output};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::kernel::blocking::elsewhere;
use crate::runner::{Chunk, Stream};

/// How long a receiver of output may take for a chunk after the run. The outcome has it anyway.
const HAND_ON: Duration = Duration::from_secs(5);

/// From so many bytes on, output is made text on another thread.
const MUCH: usize = 256 << 10;

/// What a captured stream has so far: its beginning, and its end where that is not the same.
struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How much is kept of either.
    half: usize,
    bytes: u64,
    closed: bool,
}

impl Capture {
    fn new(most: u64) -> Capture {
        let half = usize::try_from(most.div_ceil(2)).unwrap_or(usize::MAX);
        Capture { head: vec![], tail: VecDeque::new(), half, bytes: 0, closed: false }
    }

    fn keep(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        let (first, rest) = piece.split_at(piece.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    fn kept(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    fn output(self, written: u64) -> Output {
        let mut kept = self.head;
        let mut omitted = self.bytes - (kept.len() + self.tail.len()) as u64;
        let tail: Vec<u8> = self.tail.into();
        if omitted == 0 {
            kept.extend_from_slice(&tail);
        } else {
            // A character that was cut in two is left out whole.
            let half = (1..=kept.len().min(3)).find(|at| kept[kept.len() - at] & 0xc0 != 0x80);
            let cut = half.filter(|at| std::str::from_utf8(&kept[kept.len() - at..]).is_err());
            kept.truncate(kept.len() - cut.unwrap_or(0));
            let begins = tail.iter().take(3).take_while(|byte| *byte & 0xc0 == 0x80).count();
            omitted += (cut.unwrap_or(0) + begins) as u64;
            kept.extend_from_slice(format!("\n... {omitted} bytes left out ...\n").as_bytes());
            kept.extend_from_slice(&tail[begins..]);
        }
        let text = match String::from_utf8(kept) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        let truncated = omitted > 0 || written > self.bytes;
        Output { text, bytes: written, truncated, omitted_bytes: omitted }
    }
}

/// Standard output and standard error of a run.
pub(super) struct Stdio {
    out: Capture,
    err: Capture,
    /// How much of both was written, and how much may be.
    written: [u64; 2],
    most: u64,
    sink: Option<mpsc::Sender<Chunk>>,
    /// What the sink had no room for yet. Nothing more is read until it has.
    unsent: Option<Chunk>,
}

impl Stdio {
    pub fn new(limits: &Limits, sink: Option<mpsc::Sender<Chunk>>) -> Stdio {
        let capture = || Capture::new(limits.output_bytes);
        let (out, err) = (capture(), capture());
        Stdio { out, err, written: [0; 2], most: limits.printed_bytes, sink, unsent: None }
    }

    /// Whether more is to be read of a stream.
    pub fn reads(&self, stream: Stream) -> bool {
        let capture = match stream {
            Stream::Stdout => &self.out,
            Stream::Stderr => &self.err,
        };
        !capture.closed && !self.is_waiting()
    }

    /// Whether something waits for the sink.
    pub fn is_waiting(&self) -> bool {
        self.unsent.is_some()
    }

    /// Keeps what was written, up to the limit; true if it is crossed. Nothing means the end.
    pub fn wrote(&mut self, stream: Stream, piece: &[u8]) -> bool {
        let before: u64 = self.written.iter().sum();
        let (capture, written) = match stream {
            Stream::Stdout => (&mut self.out, &mut self.written[0]),
            Stream::Stderr => (&mut self.err, &mut self.written[1]),
        };
        if piece.is_empty() {
            capture.closed = true;
            return false;
        }
        let room = self.most.saturating_sub(before);
        let taken = &piece[..piece.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        capture.keep(taken);
        *written += piece.len() as u64;
        if self.sink.is_some() && !taken.is_empty() {
            self.unsent = Some(Chunk { stream, bytes: taken.to_vec() });
        }
        before + piece.len() as u64 > self.most
    }

    /// Waits until the sink has room, and gives it what waits. Nothing is lost if this is dropped.
    pub async fn pass(&mut self) {
        if let Some(sink) = &self.sink
            && let Ok(room) = sink.reserve().await
        {
            if let Some(chunk) = self.unsent.take() {
                room.send(chunk);
            }
            return;
        }
        // Nobody listens any more; the outcome still gets it.
        (self.sink, self.unsent) = (None, None);
    }

    /// Hands on what waits. The jar is dead by now, so the receiver may take some time.
    pub async fn hand_on(&mut self) {
        if let (Some(sink), Some(chunk)) = (&self.sink, self.unsent.take())
            && !matches!(timeout(HAND_ON, sink.send(chunk)).await, Ok(Ok(())))
        {
            self.sink = None;
        }
    }

    /// What was printed, for the outcome. Making text of much is done on another thread.
    pub async fn outputs(self) -> (Output, Output) {
        let (out, err, [out_bytes, err_bytes]) = (self.out, self.err, self.written);
        let is_much = out.kept() + err.kept() >= MUCH;
        let texts = move || (out.output(out_bytes), err.output(err_bytes));
        if !is_much {
            return texts();
        }
        elsewhere(texts).await.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    fn limits(output_bytes: u64, printed_bytes: u64) -> Limits {
        Limits { output_bytes, printed_bytes, ..Limits::default() }
    }

    #[tokio::test]
    async fn of_much_output_the_beginning_and_the_end_are_kept() {
        for pieces in [1, 7, 100] {
            let mut stdio = Stdio::new(&limits(10, 1000), None);
            let all: Vec<u8> = (0..100).map(|n| b'a' + n % 26).collect();
            for piece in all.chunks(pieces) {
                assert!(!stdio.wrote(Stream::Stdout, piece));
            }
            stdio.wrote(Stream::Stderr, b"0123456789");
            let (out, err) = stdio.outputs().await;
            assert_eq!(out.text, "abcde\n... 90 bytes left out ...\nrstuv");
            assert_eq!((out.bytes, out.truncated, out.omitted_bytes), (100, true, 90));
            assert_eq!((err.text.as_str(), err.truncated), ("0123456789", false));
        }
    }

    #[tokio::test]
    async fn a_character_is_never_cut() {
        for length in 1..12 {
            let mut stdio = Stdio::new(&limits(length, 1000), None);
            stdio.wrote(Stream::Stdout, "€".repeat(20).as_bytes());
            let (out, _) = stdio.outputs().await;
            assert!(!out.text.contains('\u{fffd}'), "{}", out.text);
            let kept = out.text.matches('€').count() as u64;
            assert_eq!(out.omitted_bytes, 60 - 3 * kept, "{}", out.text);
        }
    }

    #[tokio::test]
    async fn both_streams_share_one_limit_and_what_is_beyond_it_is_counted() {
        let mut stdio = Stdio::new(&limits(100, 10), None);
        assert!(!stdio.wrote(Stream::Stdout, b"123456"));
        assert!(!stdio.wrote(Stream::Stderr, b"7890"));
        assert!(stdio.wrote(Stream::Stdout, b"ab"));
        let (out, err) = stdio.outputs().await;
        assert_eq!((out.text.as_str(), out.bytes, out.truncated), ("123456", 8, true));
        assert_eq!((err.text.as_str(), err.bytes, err.truncated), ("7890", 4, false));
    }

    #[tokio::test]
    async fn much_output_and_bytes_that_are_no_text_come_as_little_output_does() {
        for count in [1, MUCH] {
            let mut stdio = Stdio::new(&limits(u64::MAX, u64::MAX), None);
            stdio.wrote(Stream::Stdout, &vec![b'a'; count]);
            stdio.wrote(Stream::Stderr, b"b\xff");
            let (out, err) = stdio.outputs().await;
            assert_eq!((out.text.len(), out.bytes), (count, count as u64));
            assert_eq!((err.text.as_str(), err.bytes), ("b\u{fffd}", 2));
        }
    }

    #[tokio::test]
    async fn nothing_more_is_read_until_the_sink_has_room() {
        let (sink, mut chunks) = mpsc::channel(1);
        let mut stdio = Stdio::new(&limits(100, 100), Some(sink));
        assert!(!stdio.wrote(Stream::Stdout, b"a") && stdio.is_waiting());
        assert!(!stdio.reads(Stream::Stdout) && !stdio.reads(Stream::Stderr));
        stdio.pass().await;
        assert!(stdio.reads(Stream::Stdout) && stdio.reads(Stream::Stderr));
        assert!(!stdio.wrote(Stream::Stderr, b"b"));
        // The first still fills the channel; giving up the wait loses nothing.
        let once = std::future::poll_fn(|context| {
            Poll::Ready(std::pin::pin!(stdio.pass()).poll(context).is_pending())
        });
        assert!(once.await && stdio.is_waiting());
        assert_eq!(chunks.recv().await.unwrap().bytes, b"a");
        stdio.pass().await;
        let second = chunks.recv().await.unwrap();
        assert_eq!((second.stream, second.bytes.as_slice()), (Stream::Stderr, &b"b"[..]));
        // When nobody listens any more, the run goes on and the outcome has it all.
        drop(chunks);
        assert!(!stdio.wrote(Stream::Stdout, b"c"));
        stdio.pass().await;
        assert!(!stdio.is_waiting() && stdio.reads(Stream::Stdout));
        assert!(!stdio.wrote(Stream::Stdout, b"") && !stdio.reads(Stream::Stdout));
        assert_eq!(stdio.outputs().await.0.text, "ac");
    }
}
