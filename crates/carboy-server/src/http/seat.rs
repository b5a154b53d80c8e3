//! Connections and what they cost others: nothing.
//!
//! There are as many seats as connections. One that has no request of a known caller under way can be taken away
//! for another, the one that has been idle longest first: connections that send nothing, or that trickle, keep
//! nobody out. A client that takes nothing of its answer for too long is cut off.

use std::collections::HashMap;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::Notify;
use tokio::time::Sleep;

use super::shares::Share;
use super::socket::{Socket, gone};

/// Nothing of a known caller is under way.
const IDLE: u8 = 0;
/// A request is under way.
const BUSY: u8 = 1;
/// The answer was handed over, and is still to be sent.
const ANSWERED: u8 = 2;
/// The seat was taken away.
const TAKEN: u8 = 3;

/// One connection's seat.
pub(super) struct Seat {
    state: AtomicU8,
    /// When it was last idle, in the order of all seats.
    idle_since: AtomicU64,
    turns: Arc<AtomicU64>,
    taken: Notify,
    socket: Socket,
    held: Mutex<Held>,
}

/// What a seat takes of what all tenants share, until everything that was to be sent is sent.
#[derive(Default)]
struct Held {
    busy: Option<Share>,
    memory: Vec<Share>,
}

impl Seat {
    /// A known caller's request begins, which takes `busy` of what its tenant may have. `None` if the seat was taken
    /// away a moment ago.
    pub fn begin(self: &Arc<Seat>, busy: Share) -> Option<Request> {
        self.state
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state != TAKEN).then_some(BUSY)
            })
            .ok()?;
        self.held().busy = Some(busy);
        Some(Request(self.clone()))
    }

    /// Counts memory of an answer until all of it is sent.
    pub fn hold(&self, memory: Share) {
        self.held().memory.push(memory);
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether nothing of a known caller is under way.
    pub fn is_idle(&self) -> bool {
        self.state.load(Ordering::Acquire) == IDLE
    }

    /// Waits until the seat is taken away.
    pub async fn is_taken(&self) {
        self.taken.notified().await;
    }

    /// Everything that was to be sent is sent.
    fn sent(&self) {
        let idle = self.state.compare_exchange(ANSWERED, IDLE, Ordering::AcqRel, Ordering::Acquire);
        if idle.is_ok() {
            *self.held() = Held::default();
            self.touch();
        }
    }

    fn touch(&self) {
        let turn = self.turns.fetch_add(1, Ordering::Relaxed);
        self.idle_since.store(turn, Ordering::Relaxed);
    }
}

/// A request under way, until its answer was handed over.
pub(super) struct Request(Arc<Seat>);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.state.compare_exchange(BUSY, ANSWERED, Ordering::AcqRel, Ordering::Acquire).ok();
    }
}

/// All seats.
pub(super) struct Seats {
    most: usize,
    turns: Arc<AtomicU64>,
    seated: Mutex<(u64, HashMap<u64, Arc<Seat>>)>,
}

/// A seat that is given back when this is dropped.
pub(super) struct Seated {
    seats: Arc<Seats>,
    number: u64,
    pub seat: Arc<Seat>,
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.seats.lock().1.remove(&self.number);
    }
}

impl Seats {
    pub fn new(most: usize) -> Arc<Seats> {
        Arc::new(Seats { most: most.max(1), turns: Arc::default(), seated: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<u64, Arc<Seat>>)> {
        self.seated.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many connections there are.
    pub fn count(&self) -> usize {
        self.lock().1.len()
    }

    /// Whether there is none for one more connection.
    pub fn is_full(&self) -> bool {
        self.count() >= self.most
    }

    /// A seat for a new connection.
    pub fn sit(self: &Arc<Seats>, socket: Socket) -> Seated {
        let seat = Arc::new(Seat {
            state: AtomicU8::new(IDLE),
            idle_since: AtomicU64::new(0),
            turns: self.turns.clone(),
            taken: Notify::new(),
            socket,
            held: Mutex::default(),
        });
        seat.touch();
        let mut seated = self.lock();
        let number = seated.0;
        seated.0 += 1;
        seated.1.insert(number, seat.clone());
        Seated { seats: self.clone(), number, seat }
    }

    /// Takes away the seat that has been idle longest. It is free when its connection has heard of it.
    pub fn take_one(&self) {
        let seated = self.lock();
        let idle = |seat: &&Arc<Seat>| seat.state.load(Ordering::Acquire) == IDLE;
        let longest = seated
            .1
            .values()
            .filter(idle)
            .min_by_key(|seat| seat.idle_since.load(Ordering::Relaxed));
        if let Some(seat) = longest
            && seat.state.compare_exchange(IDLE, TAKEN, Ordering::AcqRel, Ordering::Acquire).is_ok()
        {
            seat.taken.notify_one();
        }
    }
}

impl Seats {
    /// Ends the connections whose clients went away while something was under way for them.
    pub fn end_gone(&self) {
        let is_busy = |seat: &&Arc<Seat>| seat.state.load(Ordering::Acquire) == BUSY;
        let busy: Vec<_> = self.lock().1.values().filter(is_busy).cloned().collect();
        let sockets: Vec<_> = busy.iter().map(|seat| seat.socket.clone()).collect();
        for (seat, is_gone) in busy.iter().zip(gone(&sockets)) {
            let taken = || {
                seat.state
                    .compare_exchange(BUSY, TAKEN, Ordering::AcqRel, Ordering::Acquire)
                    .is_ok()
            };
            if is_gone && taken() {
                seat.taken.notify_one();
            }
        }
    }
}

/// A connection whose client must take what it is sent.
pub(super) struct Watched<S> {
    stream: S,
    seat: Arc<Seat>,
    patience: Duration,
    /// Runs while nothing can be written.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> Watched<S> {
    pub fn new(stream: S, seat: Arc<Seat>, patience: Duration) -> Watched<S> {
        Watched { stream, seat, patience, stalled: None }
    }

    /// An error if nothing could be written for too long.
    fn judge<T>(
        &mut self,
        context: &mut Context<'_>,
        wrote: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if wrote.is_ready() {
            self.stalled = None;
            return wrote;
        }
        let patience = self.patience;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(patience)));
        ready!(stalled.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = Pin::new(&mut self.stream).poll_write_vectored(context, bytes);
        self.judge(context, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        let flushed = self.judge(context, flushed);
        if flushed.is_ready() {
            self.seat.sent();
        }
        flushed
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.judge(context, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::super::shares::Shares;
    use super::*;

    fn socket() -> Socket {
        let (ours, _theirs) = tokio::net::UnixStream::pair().expect("a socket");
        Socket::Unix(Arc::new(ours))
    }

    #[tokio::test]
    async fn the_longest_idle_seat_is_taken_and_no_busy_one() {
        let seats = Seats::new(2);
        let (first, second) = (seats.sit(socket()), seats.sit(socket()));
        assert!(seats.is_full());
        let busy = Shares::new(8, 1, 1);
        let begin = |seated: &Seated| seated.seat.begin(busy.take(0, 1).expect("a share"));
        let request = begin(&first).expect("the seat is there");
        first.seat.hold(busy.take(0, 6).expect("a share"));
        seats.take_one();
        assert!(begin(&second).is_none() && first.seat.state.load(Ordering::Acquire) == BUSY);
        drop(request);
        // Handed over is not sent.
        seats.take_one();
        assert_eq!(first.seat.state.load(Ordering::Acquire), ANSWERED);
        assert!(busy.take(0, 2).is_none());
        first.seat.sent();
        assert!(busy.take(0, 8).is_some());
        seats.take_one();
        assert!(begin(&first).is_none());
        drop((first, second));
        assert_eq!(seats.count(), 0);
    }

    #[tokio::test]
    async fn a_client_that_takes_nothing_is_cut_off() {
        use tokio::io::AsyncWriteExt;
        let (ours, _theirs) = tokio::io::duplex(16);
        let seat = Seats::new(1).sit(socket()).seat.clone();
        let mut watched = Watched::new(ours, seat, Duration::from_millis(20));
        let error = watched.write_all(&[0; 64]).await.expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
