//! What the code prints: kept up to the limit, and passed on to whoever listens.

use std::time::Duration;

use carboy_protocol::Output;
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::runner::{Chunk, Stream};

/// How long a receiver of output may take for a chunk after the run. The outcome has it anyway.
const HAND_ON: Duration = Duration::from_secs(5);

/// From so many bytes on, output is made text on another thread.
const MUCH: usize = 256 << 10;

/// What a captured stream has so far.
#[derive(Default)]
struct Capture {
    kept: Vec<u8>,
    bytes: u64,
    closed: bool,
}

impl Capture {
    fn output(self) -> Output {
        let truncated = self.bytes > self.kept.len() as u64;
        let text = match String::from_utf8(self.kept) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        };
        Output { text, bytes: self.bytes, truncated }
    }
}

/// Standard output and standard error of a run.
pub(super) struct Stdio {
    out: Capture,
    err: Capture,
    /// How much of both is kept.
    most: u64,
    sink: Option<mpsc::Sender<Chunk>>,
    /// What the sink had no room for yet. Nothing more is read until it has.
    unsent: Option<Chunk>,
}

impl Stdio {
    pub fn new(most: u64, sink: Option<mpsc::Sender<Chunk>>) -> Stdio {
        Stdio { out: Capture::default(), err: Capture::default(), most, sink, unsent: None }
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
        let before = self.out.bytes + self.err.bytes;
        let capture = match stream {
            Stream::Stdout => &mut self.out,
            Stream::Stderr => &mut self.err,
        };
        if piece.is_empty() {
            capture.closed = true;
            return false;
        }
        let room = self.most.saturating_sub(before);
        let kept = &piece[..piece.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        capture.kept.extend_from_slice(kept);
        capture.bytes += piece.len() as u64;
        if self.sink.is_some() && !kept.is_empty() {
            self.unsent = Some(Chunk { stream, bytes: kept.to_vec() });
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
        let (out, err) = (self.out, self.err);
        if out.kept.len() + err.kept.len() < MUCH {
            return (out.output(), err.output());
        }
        let both = spawn_blocking(move || (out.output(), err.output())).await;
        // It does not panic, and when the runtime ends nobody reads it any more.
        both.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use super::*;

    #[tokio::test]
    async fn both_streams_share_one_limit_and_what_is_beyond_it_is_counted() {
        let mut stdio = Stdio::new(10, None);
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
            let mut stdio = Stdio::new(u64::MAX, None);
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
        let mut stdio = Stdio::new(100, Some(sink));
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
