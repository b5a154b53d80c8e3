//! A bucket of an object store that speaks S3's protocol: what carboy needs of one, and no more.
//!
//! Every request is signed in its address. So the same code makes the addresses that a gateway uses itself, and
//! those that it gives to a worker, which has no key.

mod client;
mod files;
mod sign;

use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::Frame;
use hyper::http::header::{CONTENT_LENGTH, HOST};
use hyper::http::{Request, Uri};
use tokio::time::timeout;

use crate::time::iso8601;
use client::{Answer, Body, Client};
pub use files::{Manifest, RunFiles, StoredContent};
use sign::{Credentials, Signed, escaped_path, unescaped};

/// For how long an address is valid.
const VALID: u32 = 60;

/// How long a store may take until it answers a small request.
const TIME: Duration = Duration::from_secs(30);

/// The slowest upload that is waited for, in bytes a second.
const SLOWEST: u64 = 64 << 10;

/// How much of a file is read at once.
const PIECE: u64 = 256 << 10;

/// Keys in one page of a list, and the longest page and the most pages that are read.
const KEYS: &str = "1000";
const PAGE: usize = 4 << 20;
const PAGES: usize = 50;

/// What a request says the SHA-256 of its body is, in Base64.
const CHECKSUM: &str = "x-amz-checksum-sha256";

/// Where a bucket is, and who we are to it.
#[derive(Clone)]
pub struct BucketConfig {
    /// `https://HOST[:PORT]`, without the bucket in it.
    pub endpoint: String,
    /// Its name.
    pub bucket: String,
    /// The region that signatures name.
    pub region: String,
    /// The id of the access key.
    pub key_id: String,
    /// Its secret.
    pub secret: String,
}

/// What is secret is in no log.
impl fmt::Debug for BucketConfig {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(form, "BucketConfig({}/{})", self.endpoint, self.bucket)
    }
}

/// A bucket. Clones share it.
#[derive(Clone)]
pub struct Bucket(Arc<Inner>);

struct Inner {
    client: Client,
    credentials: Credentials,
    /// `https://host:port`, and the same without the scheme.
    origin: String,
    host: String,
    bucket: String,
}

impl fmt::Debug for Bucket {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(form, "Bucket({}/{})", self.0.origin, self.0.bucket)
    }
}

impl Bucket {
    /// The bucket that is described so, or what is wrong with the description. Nothing is asked of it.
    pub fn new(config: BucketConfig) -> Result<Bucket, &'static str> {
        let uri: Uri = config.endpoint.parse().map_err(|_wrong| "the endpoint is no URL")?;
        let authority = uri.authority().ok_or("the endpoint names no host")?;
        let scheme = uri.scheme_str().filter(|scheme| ["http", "https"].contains(scheme));
        let scheme = scheme.ok_or("the endpoint must begin with https:// or http://")?;
        if uri.path() != "/" || uri.query().is_some() || authority.as_str().contains('@') {
            return Err("the endpoint is a scheme, a host and a port, and nothing else");
        }
        let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        let is_name = |name: &str| !name.is_empty() && name.len() <= 63 && name.bytes().all(usable);
        if !is_name(&config.bucket) || config.bucket.bytes().all(|byte| byte == b'.') {
            return Err("the bucket has no usable name");
        }
        if !is_name(&config.region) {
            return Err("the region has no usable name; where there are none, take us-east-1");
        }
        if config.key_id.is_empty() || config.secret.is_empty() {
            return Err("the key is empty");
        }
        // Clients leave the usual port out of the header, and the header is signed.
        let host = match (scheme, authority.port_u16()) {
            ("https", Some(443)) | ("http", Some(80)) => authority.host(),
            _ => authority.as_str(),
        };
        let BucketConfig { bucket, region, key_id: id, secret, .. } = config;
        Ok(Bucket(Arc::new(Inner {
            client: Client::new(),
            credentials: Credentials { id, secret, region },
            origin: format!("{scheme}://{host}"),
            host: host.into(),
            bucket,
        })))
    }

    /// An address for one request, which must have these headers.
    fn address(
        &self,
        method: &str,
        key: &str,
        query: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> String {
        let inner = &self.0;
        let path = match key {
            "" => format!("/{}", inner.bucket),
            key => escaped_path(&format!("/{}/{key}", inner.bucket)),
        };
        // `2026-11-16T03:21:30.123456Z` without what is between, and without the fraction.
        let now = iso8601(SystemTime::now());
        let now: String = now[..19].chars().filter(|letter| !"-:".contains(*letter)).collect();
        let signed = Signed {
            method,
            host: &inner.host,
            path: &path,
            query,
            headers,
            time: &format!("{now}Z"),
            seconds: VALID,
        };
        format!("{}{}", inner.origin, signed.with(&inner.credentials))
    }

    /// An address under which somebody may put this many bytes with this digest, and nothing else.
    fn put_address(&self, key: &str, bytes: u64, sha256: &str) -> Option<String> {
        let (length, checksum) = (bytes.to_string(), checksum(sha256)?);
        Some(self.address("PUT", key, &[], &[("content-length", &length), (CHECKSUM, &checksum)]))
    }

    async fn ask(
        &self,
        method: &str,
        address: &str,
        headers: &[(&str, &str)],
        body: Bytes,
    ) -> io::Result<Answer> {
        let body = Full::new(body).map_err(|never| match never {}).boxed();
        let request = request(method, address, headers, body)?;
        timeout(TIME, self.0.client.send(request)).await.map_err(|_| late())?
    }

    /// What is there under a key, or a part of it: its first byte and how many.
    async fn get(&self, key: &str, part: Option<(u64, u64)>) -> io::Result<Option<Answer>> {
        let address = self.address("GET", key, &[], &[]);
        let range = part.map(|(from, count)| format!("bytes={from}-{}", from + count - 1));
        let headers: Vec<_> = range.iter().map(|range| ("range", range.as_str())).collect();
        let answer = self.ask("GET", &address, &headers, Bytes::new()).await?;
        let is_part = part.is_none_or(|(from, _)| answer.begins_at(from));
        match answer.status() {
            // Some stores call a part 200 too.
            200 | 206 if is_part => Ok(Some(answer)),
            404 => Ok(None),
            status => Err(refused("read", status)),
        }
    }

    /// Puts something under a key unless something is there, where the store can tell. Whether it was put.
    async fn create(&self, key: &str, content: Bytes) -> io::Result<bool> {
        let headers = [("if-none-match", "*")];
        let address = self.address("PUT", key, &[], &headers);
        let answer = self.ask("PUT", &address, &headers, content).await?;
        match answer.status() {
            200..300 => Ok(true),
            409 | 412 => Ok(false),
            status => Err(refused("write", status)),
        }
    }

    /// Keys that begin so, with their sizes.
    async fn list(&self, prefix: &str) -> io::Result<Vec<(String, u64)>> {
        let mut found = Vec::new();
        let mut token = String::new();
        for _ in 0..PAGES {
            let mut query = vec![
                ("encoding-type", "url"),
                ("list-type", "2"),
                ("max-keys", KEYS),
                ("prefix", prefix),
            ];
            if !token.is_empty() {
                query.push(("continuation-token", &token));
            }
            let address = self.address("GET", "", &query, &[]);
            let answer = self.ask("GET", &address, &[], Bytes::new()).await?;
            if answer.status() != 200 {
                return Err(refused("list", answer.status()));
            }
            let page = String::from_utf8(answer.whole(PAGE).await?).map_err(io::Error::other)?;
            for entry in between(&page, "<Contents>", "</Contents>") {
                let field = |open, close| between(entry, open, close).next();
                let key = field("<Key>", "</Key>").and_then(unescaped);
                let size = field("<Size>", "</Size>").and_then(|size| size.trim().parse().ok());
                found.extend(key.zip(size));
            }
            let next = between(&page, "<NextContinuationToken>", "</NextContinuationToken>").next();
            match next.filter(|_| page.contains("<IsTruncated>true<")) {
                Some(next) => token = next.replace("&amp;", "&"),
                None => return Ok(found),
            }
        }
        Err(io::Error::other("there are more files than a list may have"))
    }
}

/// Puts files at addresses that somebody else signed. It has no key.
#[derive(Clone)]
pub struct Uploader(Client);

impl Uploader {
    /// One that trusts the authorities that this host trusts.
    pub fn new() -> Uploader {
        Uploader(Client::new())
    }

    /// Puts a part of a file at an address that was signed for it. Gives the status of the answer.
    pub async fn put(
        &self,
        address: &str,
        sha256: &str,
        file: Arc<File>,
        (at, bytes): (u64, u64),
    ) -> io::Result<u16> {
        let checksum = checksum(sha256).ok_or(io::ErrorKind::InvalidInput)?;
        let length = bytes.to_string();
        let headers = [("content-length", length.as_str()), (CHECKSUM, &checksum)];
        let request = request("PUT", address, &headers, pieces(file, at, bytes))?;
        let most = TIME + Duration::from_secs(bytes / SLOWEST);
        let answer = timeout(most, self.0.send(request)).await.map_err(|_| late())??;
        Ok(answer.status())
    }
}

impl Default for Uploader {
    fn default() -> Uploader {
        Uploader::new()
    }
}

impl fmt::Debug for Uploader {
    fn fmt(&self, form: &mut fmt::Formatter<'_>) -> fmt::Result {
        form.write_str("Uploader")
    }
}

/// A part of a file as a body, which is read as it is sent.
fn pieces(file: Arc<File>, at: u64, bytes: u64) -> Body {
    let read = move |(from, left): (u64, u64)| {
        let file = file.clone();
        async move {
            let count = left.min(PIECE);
            let reading = tokio::task::spawn_blocking(move || {
                let mut piece = vec![0; usize::try_from(count).unwrap_or_default()];
                file.read_exact_at(&mut piece, from).map(|()| Bytes::from(piece))
            });
            let piece = reading.await.map_err(io::Error::other)??;
            Ok::<_, io::Error>(Some((Frame::data(piece), (from + count, left - count))))
        }
    };
    let pieces = stream::try_unfold((at, bytes), move |state @ (_, left)| {
        let piece = (left > 0).then(|| read(state));
        async move {
            match piece {
                Some(piece) => piece.await,
                None => Ok(None),
            }
        }
    });
    BodyExt::boxed(StreamBody::new(pieces))
}

fn request(
    method: &str,
    address: &str,
    headers: &[(&str, &str)],
    body: Body,
) -> io::Result<Request<Body>> {
    let uri: Uri = address.parse().map_err(io::Error::other)?;
    let host = uri.authority().map(|authority| authority.to_string()).unwrap_or_default();
    let mut request = Request::builder().method(method).uri(uri).header(HOST, host);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if method == "PUT" && !headers.iter().any(|(name, _)| *name == CONTENT_LENGTH.as_str()) {
        let length = http_body::Body::size_hint(&body).exact().unwrap_or_default();
        request = request.header(CONTENT_LENGTH, length);
    }
    request.body(body).map_err(io::Error::other)
}

fn refused(step: &'static str, status: u16) -> io::Error {
    io::Error::other(format!("the store did not {step}: status {status}"))
}

fn late() -> io::Error {
    io::ErrorKind::TimedOut.into()
}

/// Everything that stands between two marks, one after the other.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    let parts = text.split(open).skip(1);
    parts.filter_map(move |part| part.split_once(close)).map(|(inside, _)| inside)
}

/// A digest in hexadecimal, in Base64 as stores want it.
fn checksum(sha256: &str) -> Option<String> {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if sha256.len() != 64 || !sha256.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let bytes: Option<Vec<u8>> =
        (0..32).map(|at| u8::from_str_radix(&sha256[2 * at..2 * at + 2], 16).ok()).collect();
    let mut text = String::with_capacity(44);
    for three in bytes?.chunks(3) {
        let bits = (0..3).fold(0, |bits, at| bits << 8 | u32::from(*three.get(at).unwrap_or(&0)));
        for place in 0..=three.len() {
            text.push(char::from(LETTERS[(bits >> (18 - 6 * place) & 63) as usize]));
        }
    }
    // 32 bytes leave two over.
    text.push('=');
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(endpoint: &str) -> BucketConfig {
        let [bucket, region, key_id, secret] = ["b", "us-east-1", "id", "secret"].map(String::from);
        BucketConfig { endpoint: endpoint.into(), bucket, region, key_id, secret }
    }

    #[test]
    fn an_endpoint_is_a_place_and_nothing_else() {
        for good in ["https://s3.example.com", "http://127.0.0.1:9000", "https://[::1]:9000/"] {
            assert!(Bucket::new(config(good)).is_ok(), "{good}");
        }
        for wrong in
            ["", "s3.example.com", "ftp://a", "https://a/b", "https://u:p@a", "http://a/?b"]
        {
            assert!(Bucket::new(config(wrong)).is_err(), "{wrong}");
        }
        let named = |bucket: &str| BucketConfig { bucket: bucket.into(), ..config("https://a") };
        for wrong in ["", "a/b", "..", "a b"] {
            assert!(Bucket::new(named(wrong)).is_err(), "{wrong}");
        }
        let secret = format!("{:?}", config("https://a"));
        assert!(!secret.contains("secret"), "{secret}");
    }

    #[test]
    fn a_digest_is_written_as_stores_want_it() {
        // That of nothing, as `openssl dgst -sha256 -binary | base64` has it.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let expected = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=";
        assert_eq!(checksum(empty).as_deref(), Some(expected));
        for wrong in ["", "zz", &empty[1..], &format!("{}\u{e9}", &empty[..62])] {
            assert_eq!(checksum(wrong), None, "{wrong}");
        }
    }
}
