//! A client that counts answers: plain sockets, kept connections, and nothing that hides a second answer.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// One answer.
pub struct Answer {
    pub status: u16,
    /// Whether it says when to come again.
    pub says_when: bool,
    pub body: Vec<u8>,
    closes: bool,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A connection that is kept.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub async fn open(address: &str) -> io::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Sends a request and reads its answer, which must be the only one.
    pub async fn ask(&mut self, request: &[u8]) -> io::Result<Answer> {
        self.buffer.clear();
        self.stream.write_all(request).await?;
        let (answer, length) = loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(whole) = whole(&self.buffer)? {
                break whole;
            }
        };
        if self.buffer.len() > length {
            return Err(io::Error::other(TWICE));
        }
        Ok(answer)
    }
}

/// What is said of a connection on which more came than one answer.
pub const TWICE: &str = "more than one answer";

/// The answer and how long it is, if all of it is there.
fn whole(bytes: &[u8]) -> io::Result<Option<(Answer, usize)>> {
    let Some(end) = bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
    let value = |name: &str| {
        head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let wrong = || io::Error::other("no answer of HTTP with a length");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(wrong)?;
    let body: usize = match value("content-length") {
        Some(length) => length.parse().map_err(|_wrong| wrong())?,
        None if status == 204 => 0,
        None => return Err(wrong()),
    };
    let length = end + 4 + body;
    if bytes.len() < length {
        return Ok(None);
    }
    let answer = Answer {
        status,
        says_when: value("retry-after").is_some(),
        body: bytes[end + 4..length].to_vec(),
        closes: value("connection") == Some("close"),
    };
    Ok(Some((answer, length)))
}

/// Connections to a server, used again and again.
#[derive(Clone)]
pub struct Client {
    pub address: String,
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl Client {
    pub fn new(address: &str) -> Client {
        Client { address: address.into(), idle: Arc::default() }
    }

    /// One request, on whichever connection is free.
    pub async fn ask(&self, request: &[u8]) -> io::Result<Answer> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(&self.address).await?,
        };
        let answer = connection.ask(request).await?;
        if !answer.closes {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        }
        Ok(answer)
    }

    /// A request with a key, an id and a body.
    pub fn request(&self, key: &str, line: &str, id: &str, body: &str) -> Vec<u8> {
        format!(
            "{line} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\nX-Request-Id: {id}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_whole_when_all_of_it_is_there() {
        let text =
            b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n{}more";
        let (answer, length) = whole(text).expect("an answer").expect("all of it");
        assert_eq!((answer.status, answer.says_when, &answer.body[..]), (429, true, &b"{}"[..]));
        assert_eq!(&text[length..], b"more");
        assert!(whole(&text[..text.len() - 6]).expect("a part").is_none());
        assert!(whole(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
