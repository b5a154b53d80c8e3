//! One HTTP request to an object store, over TLS or without.
//!
//! One connection for each, no redirects, and the caller takes an answer's body piece by piece. Addresses come from an
//! operator's settings or were signed by a gateway, never from a guest.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use http_body_util::combinators::BoxBody;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::http::header::CONTENT_RANGE;
use hyper::http::uri::Scheme;
use hyper::http::{Request, Response, Uri};
use hyper_util::rt::TokioIo;
use rustls_native_certs::load_native_certs;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// How long a connection may take, and how long a store may say nothing at all.
const CONNECT: Duration = Duration::from_secs(10);
const SILENCE: Duration = Duration::from_secs(30);

/// What a request carries.
pub(super) type Body = BoxBody<Bytes, io::Error>;

/// Sends requests to stores.
#[derive(Clone)]
pub(super) struct Client {
    tls: TlsConnector,
}

impl Client {
    /// One that trusts the authorities that this host trusts.
    pub fn new() -> Client {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(load_native_certs().certs);
        let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        Client { tls: Arc::new(config).into() }
    }

    /// Sends a request whose address is whole, and gives the answer as soon as its headers are there.
    pub async fn send(&self, mut request: Request<Body>) -> io::Result<Answer> {
        let place = Place::of(request.uri())?;
        *request.uri_mut() = place.path.parse().map_err(io::Error::other)?;
        let connect = TcpStream::connect((place.host.as_str(), place.port));
        let stream = timeout(CONNECT, connect).await.map_err(late)??;
        if place.is_tls {
            let name = ServerName::try_from(place.host).map_err(io::Error::other)?;
            let stream = timeout(CONNECT, self.tls.connect(name, stream)).await.map_err(late)??;
            exchange(stream, request).await
        } else {
            exchange(stream, request).await
        }
    }
}

/// Where a request goes.
struct Place {
    host: String,
    port: u16,
    is_tls: bool,
    path: String,
}

impl Place {
    fn of(uri: &Uri) -> io::Result<Place> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidInput, "not an address of a store");
        let authority = uri.authority().ok_or_else(wrong)?;
        let is_tls = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            Some(scheme) if *scheme == Scheme::HTTP => false,
            _ => return Err(wrong()),
        };
        let host = authority.host().trim_matches(['[', ']']).to_owned();
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Place { host, port, is_tls, path })
    }
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<Body>,
) -> io::Result<Answer> {
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let connection = Ends(tokio::spawn(async move {
        // What went wrong is told where the answer is awaited.
        connection.await.ok();
    }));
    let response = sender.send_request(request).await.map_err(io::Error::other)?;
    Ok(Answer { response, _connection: connection })
}

fn late(_: tokio::time::error::Elapsed) -> io::Error {
    io::ErrorKind::TimedOut.into()
}

/// An answer, whose connection ends with it.
pub(super) struct Answer {
    response: Response<Incoming>,
    _connection: Ends,
}

impl Answer {
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Whether it says that its body begins at this byte of what is there.
    pub fn begins_at(&self, from: u64) -> bool {
        let range =
            self.response.headers().get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
        range.is_some_and(|range| range.starts_with(&format!("bytes {from}-")))
    }

    /// The next piece of its body; none when it is over.
    pub async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let frame = timeout(SILENCE, self.response.body_mut().frame()).await.map_err(late)?;
            let Some(frame) = frame else { return Ok(None) };
            if let Ok(data) = frame.map_err(io::Error::other)?.into_data() {
                return Ok(Some(data));
            }
        }
    }

    /// All of its body, if that is no more than so many bytes.
    pub async fn whole(mut self, most: usize) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        while let Some(piece) = self.piece().await? {
            if whole.len() + piece.len() > most {
                return Err(io::Error::other("the store answered more than it was asked for"));
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole)
    }
}

struct Ends(JoinHandle<()>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abort();
    }
}
