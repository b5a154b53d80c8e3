//! Clients that do what no honest one does: they connect and say nothing, send half of what they have to, send headers
//! without end, let bodies trickle, and do not read their answers.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::client::Client;
use super::server;

/// How many of each there are at once, beside those that say nothing.
const HALVES: usize = 200;
const HEADERS: usize = 4;
const TRICKLES: usize = 16;
const DEAF: usize = 8;

/// Between two tries of one of them, so that this process has time for the honest ones.
const PAUSE: Duration = Duration::from_millis(100);

/// Headers of one of them.
const HEADER_BYTES: usize = 1 << 20;

/// What came of them.
#[derive(Default)]
pub struct Counts {
    over: AtomicBool,
    /// The most connections that said nothing and were open at once, on this side.
    idle: AtomicUsize,
    connections: AtomicUsize,
    headers_refused: AtomicUsize,
    trickles_ended: AtomicUsize,
    deaf_ended: AtomicUsize,
}

/// All of them, until this is dropped.
pub struct Hostile {
    counts: Arc<Counts>,
    thread: Option<JoinHandle<()>>,
    _tasks: JoinSet<()>,
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.counts.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It closes what it holds.
            thread.join().ok();
        }
    }
}

impl Hostile {
    /// Starts them, so many that say nothing among them.
    pub fn start(client: &Client, idle: usize) -> Hostile {
        let mut tasks = JoinSet::new();
        let counts = Arc::<Counts>::default();
        let address = &client.address;
        let (place, counted) = (address.clone(), counts.clone());
        let thread = std::thread::spawn(move || say_nothing(&place, &counted, idle));
        for _ in 0..HALVES {
            let part = format!("POST /v1/runs HTTP/1.1\r\nHost: {address}\r\nAuthor");
            tasks.spawn(again(address.clone(), counts.clone(), async move |mut stream, _| {
                stream.write_all(part.as_bytes()).await?;
                read_all(&mut stream).await;
                Ok(())
            }));
        }
        for _ in 0..HEADERS {
            let head =
                format!("GET /healthz HTTP/1.1\r\nHost: {address}\r\nX: {}", "x".repeat(4096));
            tasks.spawn(again(address.clone(), counts.clone(), async move |mut stream, counts| {
                stream.write_all(head.as_bytes()).await?;
                for _ in 0..HEADER_BYTES / 4096 {
                    if stream.write_all(&[b'x'; 4096]).await.is_err() {
                        break;
                    }
                }
                if read_all(&mut stream).await.starts_with(b"HTTP/1.1 431") {
                    counts.headers_refused.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        let key = server::key("hostile");
        for _ in 0..TRICKLES {
            let body = "x".repeat(100_000);
            let request = client.request(&key, "POST /v1/runs", "trickle", &body);
            let head = request[..request.len() - body.len()].to_vec();
            tasks.spawn(again(address.clone(), counts.clone(), async move |mut stream, counts| {
                stream.write_all(&head).await?;
                while stream.write_all(b" ").await.is_ok() {
                    let mut answer = [0; 1];
                    let waited = tokio::time::timeout(PAUSE, stream.read(&mut answer)).await;
                    if waited.is_ok() {
                        counts.trickles_ended.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                }
                Ok(())
            }));
        }
        for _ in 0..DEAF {
            // More than the kernel holds for a connection that nobody reads.
            let code = "for _ in range(8192): print('x' * 1023)";
            let body = json!({ "code": code }).to_string();
            let mut request = client.request(&key, "POST /v1/runs", "deaf", &body);
            let at = request.windows(2).position(|bytes| bytes == b"\r\n").unwrap_or(0);
            request.splice(at..at, *b"\r\nAccept: text/event-stream");
            tasks.spawn(again(address.clone(), counts.clone(), async move |mut stream, counts| {
                stream.write_all(&request).await?;
                // Long enough for the server to see that nothing is taken.
                tokio::time::sleep(Duration::from_secs(8)).await;
                let said =
                    tokio::time::timeout(Duration::from_secs(5), read_all(&mut stream)).await;
                let whole = |said: &[u8]| said.windows(14).any(|bytes| bytes == b"event: outcome");
                if said.is_ok_and(|said| !whole(&said)) {
                    counts.deaf_ended.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        Hostile { counts, thread: Some(thread), _tasks: tasks }
    }

    pub fn report(&self) -> Value {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        json!({
            "idle_at_once": of(&self.counts.idle),
            "connections": of(&self.counts.connections),
            "half_requests_at_once": HALVES,
            "headers_refused": of(&self.counts.headers_refused),
            "trickles_ended": of(&self.counts.trickles_ended),
            "slow_readers_cut_off": of(&self.counts.deaf_ended),
        })
    }
}

/// Connects and does the same again and again.
async fn again(
    address: String,
    counts: Arc<Counts>,
    act: impl AsyncFn(TcpStream, &Counts) -> io::Result<()>,
) {
    loop {
        if let Ok(stream) = narrow(&address).await {
            counts.connections.fetch_add(1, Ordering::Relaxed);
            // Whatever the server does with it, the next one comes.
            act(stream, &counts).await.ok();
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A connection for which the kernel holds little.
async fn narrow(address: &str) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    socket.connect(address.parse().map_err(io::Error::other)?).await
}

async fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut said = Vec::new();
    // It may be cut off; what came before counts.
    stream.read_to_end(&mut said).await.ok();
    said
}

/// Holds so many connections open, and opens those again that the server closed, until it is told to stop. On a thread:
/// the honest callers of this process have enough to do.
fn say_nothing(address: &str, counts: &Counts, most: usize) {
    let mut open: Vec<std::net::TcpStream> = Vec::with_capacity(most);
    while !counts.over.load(Ordering::Relaxed) {
        open.retain(is_open);
        for _ in open.len()..most {
            let Ok(stream) = std::net::TcpStream::connect(address) else { break };
            // Without it, looking whether it is open would wait.
            if stream.set_nonblocking(true).is_err() || counts.over.load(Ordering::Relaxed) {
                break;
            }
            counts.connections.fetch_add(1, Ordering::Relaxed);
            open.push(stream);
        }
        counts.idle.fetch_max(open.len(), Ordering::Relaxed);
        std::thread::sleep(PAUSE);
    }
}

/// Whether the other end, which has nothing to send, has not closed it.
fn is_open(stream: &std::net::TcpStream) -> bool {
    let would_block = |error: io::Error| error.kind() == io::ErrorKind::WouldBlock;
    stream.peek(&mut [0]).is_err_and(would_block)
}
