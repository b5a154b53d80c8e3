//! Taking connections, serving them, and closing the door without losing an answer.

use std::convert::Infallible;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use carboy_engine::Sessions;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, UnixListener, UnixSocket, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::door::{Door, Standing};
use super::seat::{Seated, Seats, Watched};
use super::socket::Socket;
use super::unread;

/// How many connections the kernel holds until they are taken, if its own bound is not lower. Where they are too many, it
/// drops the request for one more, and a client asks again a second later.
const BACKLOG: u32 = 4096;

/// How long nothing is taken after it failed, as when there are no descriptors left.
const PAUSE: Duration = Duration::from_millis(50);

/// How often it is looked whether clients are still there.
const LOOK: Duration = Duration::from_millis(500);

/// How long clients have for the answers of runs that were cancelled at the end.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Where connections come from.
pub enum Listener {
    /// A network address.
    Tcp(TcpListener),
    /// A socket in the file system, removed with this.
    Unix(UnixListener, SocketFile),
}

/// The file of a Unix socket.
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        std::fs::remove_file(&self.0).ok();
    }
}

impl Listener {
    /// Listens on `ADDRESS:PORT` or `unix:PATH`. A socket that nobody listens on any more is replaced.
    pub async fn bind(place: &str) -> io::Result<Listener> {
        let Some(path) = place.strip_prefix("unix:").map(Path::new) else {
            return tcp(place).await.map(Listener::Tcp);
        };
        let listener = match unix(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                match UnixStream::connect(path).await {
                    // So is who connects to a plain file, which is somebody's.
                    Err(refused)
                        if refused.kind() == io::ErrorKind::ConnectionRefused
                            && std::fs::symlink_metadata(path)?.file_type().is_socket() =>
                    {
                        std::fs::remove_file(path)?;
                        unix(path)?
                    }
                    _ => return Err(error),
                }
            }
            other => other?,
        };
        Ok(Listener::Unix(listener, SocketFile(path.into())))
    }

    /// How a client names it.
    pub fn place(&self) -> io::Result<String> {
        match self {
            Listener::Tcp(listener) => Ok(format!("http://{}", listener.local_addr()?)),
            Listener::Unix(_, file) => Ok(format!("unix:{}", file.0.display())),
        }
    }
}

/// Listens on the first address that a name has and that can be had.
async fn tcp(place: &str) -> io::Result<TcpListener> {
    let mut last = None;
    for address in tokio::net::lookup_host(place).await? {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        match socket.bind(address).and_then(|()| socket.listen(BACKLOG)) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrNotAvailable.into()))
}

fn unix(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    socket.bind(path)?;
    socket.listen(BACKLOG)
}

/// How the door is to close.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Closing {
    /// Not yet.
    Open,
    /// When the runs under way are over.
    Drain,
    /// At once: they are cancelled, and answered as such.
    Now,
}

/// Serves until it is told to close, and ends what the desk has. `late` answers those who come meanwhile.
pub(super) async fn accept<R: Sessions>(
    door: Arc<Door<R>>,
    router: Router,
    late: Router,
    listener: Listener,
    mut closing: watch::Receiver<Closing>,
) {
    let mut connections = JoinSet::new();
    // Ends with the connections.
    let mut watch = JoinSet::new();
    watch.spawn(end_gone(door.seats.clone()));
    let (stop, stopped) = watch::channel(false);
    loop {
        tokio::select! {
            next = next(&door, &listener, &mut connections) => match next {
                Ok(socket) => {
                    let seated = door.seats.sit(socket.clone());
                    let (door, router, stopped) = (door.clone(), router.clone(), stopped.clone());
                    connections.spawn(open(door, router, socket, seated, stopped));
                }
                Err(_none) => tokio::time::sleep(PAUSE).await,
            },
            () = until(&mut closing, Closing::Drain) => break,
        }
        while connections.try_join_next().is_some() {}
    }
    door.set_standing(Standing::Draining);
    stop.send(true).ok(); // There may be no connection.
    let last = async {
        let is_over = tokio::select! {
            () = all_gone(&mut connections) => true,
            () = tokio::time::sleep(door.drain_time()) => false,
            () = until(&mut closing, Closing::Now) => false,
        };
        if !is_over {
            door.cancel_all();
            tokio::time::timeout(LAST_ANSWERS, all_gone(&mut connections)).await.ok();
        }
    };
    // Whoever still comes is told that the server ends; nobody waits for them.
    tokio::select! {
        () = last => {}
        () = turn_away(&door, late, &listener) => {}
    }
    drop(listener);
    connections.shutdown().await;
    door.desk.shutdown().await;
}

/// Answers new connections while the door closes, each once, until this is dropped.
async fn turn_away<R: Sessions>(door: &Arc<Door<R>>, router: Router, listener: &Listener) {
    let mut connections = JoinSet::new();
    // They are not told to stop: who has connected has not asked yet.
    let (_stop, stopped) = watch::channel(false);
    loop {
        match next(door, listener, &mut connections).await {
            Ok(socket) => {
                let seated = door.seats.sit(socket.clone());
                let (door, router, stopped) = (door.clone(), router.clone(), stopped.clone());
                connections.spawn(open(door, router, socket, seated, stopped));
            }
            Err(_none) => tokio::time::sleep(PAUSE).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn end_gone(seats: Arc<Seats>) {
    loop {
        tokio::time::sleep(LOOK).await;
        seats.end_gone();
    }
}

/// Waits until the door is to close so. If nobody can say it any more, it closes too.
async fn until(closing: &mut watch::Receiver<Closing>, so: Closing) {
    closing.wait_for(|closing| *closing >= so).await.ok();
}

async fn all_gone(connections: &mut JoinSet<()>) {
    while connections.join_next().await.is_some() {}
}

/// The next connection, when there is a seat for it.
async fn next<R: Sessions>(
    door: &Door<R>,
    listener: &Listener,
    connections: &mut JoinSet<()>,
) -> io::Result<Socket> {
    let socket = match listener {
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            // An answer is one write, and nothing follows that it could wait for.
            stream.set_nodelay(true)?;
            Socket::Tcp(Arc::new(stream))
        }
        Listener::Unix(listener, _) => Socket::Unix(Arc::new(listener.accept().await?.0)),
    };
    while door.seats.is_full() {
        door.seats.take_one();
        tokio::select! {
            // There may be none here while others hold the seats: that is nothing to wait for.
            Some(_) = connections.join_next() => {}
            // One that was busy may be idle now.
            () = tokio::time::sleep(PAUSE) => {}
        }
    }
    Ok(socket)
}

/// Serves a connection, after the handshake if there is to be one. Until that is done it is one like any other that
/// sends nothing.
async fn open<R: Sessions>(
    door: Arc<Door<R>>,
    router: Router,
    socket: Socket,
    seated: Seated,
    mut stopped: watch::Receiver<bool>,
) {
    let Some(tls) = door.tls.clone().filter(|_| matches!(socket, Socket::Tcp(_))) else {
        return serve(door, router, socket, seated, stopped).await;
    };
    let shaken = tokio::select! {
        shaken = tokio::time::timeout(door.bounds.header_time(), tls.accept(socket)) => shaken,
        () = seated.seat.is_taken() => return,
        _ = stopped.wait_for(|stopped| *stopped) => return,
    };
    // A client that does not speak TLS is no fault of ours.
    if let Ok(Ok(stream)) = shaken {
        serve(door, router, stream, seated, stopped).await;
    }
}

async fn serve<R: Sessions, S: AsyncRead + AsyncWrite + Unpin>(
    door: Arc<Door<R>>,
    router: Router,
    stream: S,
    seated: Seated,
    mut stopped: watch::Receiver<bool>,
) {
    let seat = seated.seat.clone();
    let io = TokioIo::new(Watched::new(stream, seat.clone(), door.bounds.write_time()));
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(seat.clone());
        let (request, loan) = unread::lend(request);
        let (router, patience) = (router.clone(), door.bounds.body_time());
        async move {
            let answered = router.oneshot(request).await;
            let mut response = answered.unwrap_or_else(|never| match never {});
            loan.settle(&mut response, patience).await;
            Ok::<_, Infallible>(response)
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(door.bounds.header_time())
        .max_buf_size(door.bounds.header_bytes.max(8 << 10))
        .serve_connection(io, service);
    tokio::pin!(connection);
    tokio::select! {
        // A client that does not speak HTTP, or is gone, is no fault of ours.
        _ended = &mut connection => return,
        () = seated.seat.is_taken() => return,
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    // Half a request of somebody who has shown no key is not waited for.
    if seated.seat.is_idle() {
        return;
    }
    connection.as_mut().graceful_shutdown();
    tokio::select! {
        _ended = &mut connection => {}
        () = seated.seat.is_taken() => {}
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn many_connect_before_one_is_taken() {
        let listener = Listener::bind("127.0.0.1:0").await.expect("a listener");
        let place = listener.place().expect("a place");
        let address = place.strip_prefix("http://").expect("an address");
        let bound = std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("the bound");
        let most = bound.trim().parse::<usize>().expect("a number").min(400);
        let mut clients = Vec::new();
        for number in 0..most {
            let connecting = TcpStream::connect(address);
            let connected = tokio::time::timeout(Duration::from_secs(60), connecting).await;
            clients.push(connected.unwrap_or_else(|_| panic!("{number} waits")).expect("a client"));
        }
    }
}
