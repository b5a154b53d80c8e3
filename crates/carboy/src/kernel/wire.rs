//! Jupyter's messages: how they are signed, and how they are told apart.
//!
//! Any process of this machine may connect to the sockets. Only who knows the key of the connection file can
//! say anything: what is not signed with it is dropped unread.

use std::path::Path;
use std::time::SystemTime;

use bytes::Bytes;
use carboy_store::iso8601;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::Sha256;
use zeromq::ZmqMessage;

use crate::failure::Failure;
use crate::guest_text::one_line;

/// Stands between whom a message is for and the message.
const DELIMITER: &[u8] = b"<IDS|MSG>";
/// Of Jupyter's messaging.
const PROTOCOL: &str = "5.3";

/// How Jupyter wants to reach the kernel.
#[derive(Deserialize)]
pub struct Connection {
    transport: String,
    ip: String,
    pub shell_port: u16,
    pub control_port: u16,
    pub iopub_port: u16,
    pub stdin_port: u16,
    pub hb_port: u16,
    key: String,
    signature_scheme: String,
}

impl Connection {
    pub fn read(file: &Path) -> Result<Connection, Failure> {
        let place = one_line(&file.display().to_string());
        let wrong = |why: String| {
            Failure::usage(
                format!("the connection file {place} cannot be used: {why}"),
                "Jupyter writes it and starts this command; `carboy kernel install` lets it do so",
            )
        };
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        let connection: Connection =
            serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if connection.transport != "tcp" || connection.signature_scheme != "hmac-sha256" {
            return Err(wrong("only tcp with hmac-sha256 is spoken here".into()));
        }
        // Without one everybody on this machine could run code.
        if connection.key.is_empty() {
            return Err(wrong("it has no key".into()));
        }
        Ok(connection)
    }

    pub fn endpoint(&self, port: u16) -> String {
        format!("tcp://{}:{port}", self.ip)
    }
}

/// What a kernel says of itself.
pub fn about(python: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "status": "ok",
        "protocol_version": PROTOCOL,
        "implementation": "carboy",
        "implementation_version": version,
        "language_info": {
            "name": "python",
            "version": python,
            "mimetype": "text/x-python",
            "file_extension": ".py",
            "pygments_lexer": "ipython3",
            "codemirror_mode": { "name": "python", "version": 3 },
            "nbconvert_exporter": "python",
        },
        "banner": format!("carboy {version}: Python {python} in a sealed session"),
        "help_links": [],
    })
}

/// Who a message is from and what it is.
#[derive(Serialize, Deserialize)]
struct Header {
    msg_id: String,
    session: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    date: String,
    msg_type: String,
    #[serde(default)]
    version: String,
}

/// What Jupyter asked.
pub struct Request {
    /// Who asked.
    identities: Vec<Bytes>,
    /// Its header as it came, to be sent back.
    header: Bytes,
    pub kind: String,
    content: Bytes,
}

impl Request {
    /// What it says, if that is what it should be.
    pub fn content<'a, T: Deserialize<'a>>(&'a self) -> Option<T> {
        serde_json::from_slice(&self.content).ok()
    }
}

/// Signs what is said, and checks what is heard.
pub struct Voice {
    key: Hmac<Sha256>,
    /// This kernel, for Jupyter.
    session: String,
    said: std::cell::Cell<u64>,
}

impl Voice {
    pub fn new(connection: &Connection) -> Result<Voice, Failure> {
        let key = Hmac::new_from_slice(connection.key.as_bytes());
        let key = key.map_err(|_| Failure::usage("the connection's key cannot be used", ""))?;
        let mut random = [0; 16];
        rustix::rand::getrandom(&mut random, rustix::rand::GetRandomFlags::empty())
            .map_err(Failure::os("draw a random number"))?;
        let session = format!("{:032x}", u128::from_ne_bytes(random));
        Ok(Voice { key, session, said: std::cell::Cell::new(0) })
    }

    fn signed(&self, parts: &[Bytes]) -> Hmac<Sha256> {
        let mut signature = self.key.clone();
        parts.iter().for_each(|part| signature.update(part));
        signature
    }

    /// A request with a right signature.
    pub fn hear(&self, message: ZmqMessage) -> Option<Request> {
        let mut frames = message.into_vec();
        let end = frames.iter().position(|frame| frame.as_ref() == DELIMITER)?;
        let rest = frames.split_off(end);
        let [_, signature, header, parent, metadata, content, ..] = rest.as_slice() else {
            return None;
        };
        let parts = [header.clone(), parent.clone(), metadata.clone(), content.clone()];
        self.signed(&parts).verify_slice(&from_hex(signature)?).ok()?;
        let Header { msg_type, .. } = serde_json::from_slice(header).ok()?;
        Some(Request {
            identities: frames,
            header: header.clone(),
            kind: msg_type,
            content: content.clone(),
        })
    }

    /// An answer, for whoever asked alone.
    pub fn answer(&self, request: &Request, kind: &str, content: &impl Serialize) -> ZmqMessage {
        self.message(&request.identities, &request.header, kind, content)
    }

    /// What everybody who listens is told, because of a request or of nobody's.
    pub fn tell(
        &self,
        about: Option<&Request>,
        kind: &str,
        content: &impl Serialize,
    ) -> ZmqMessage {
        let parent = about.map_or(Bytes::from_static(b"{}"), |request| request.header.clone());
        self.message(&[Bytes::copy_from_slice(kind.as_bytes())], &parent, kind, content)
    }

    fn message(
        &self,
        to: &[Bytes],
        parent: &Bytes,
        kind: &str,
        content: &impl Serialize,
    ) -> ZmqMessage {
        let number = self.said.get();
        self.said.set(number + 1);
        let header = Header {
            msg_id: format!("{}_{number}", self.session),
            session: self.session.clone(),
            username: "carboy".into(),
            date: iso8601(SystemTime::now()),
            msg_type: kind.into(),
            version: PROTOCOL.into(),
        };
        let json = |value: serde_json::Result<Vec<u8>>| Bytes::from(value.unwrap_or_default());
        let parts = [
            json(serde_json::to_vec(&header)),
            parent.clone(),
            Bytes::from_static(b"{}"),
            json(serde_json::to_vec(content)),
        ];
        let signature = self.signed(&parts).finalize().into_bytes();
        let signature: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut message = ZmqMessage::from(signature);
        message.push_front(Bytes::from_static(DELIMITER));
        to.iter().rev().for_each(|frame| message.push_front(frame.clone()));
        parts.into_iter().for_each(|part| message.push_back(part));
        message
    }
}

/// Bytes written in hexadecimal.
fn from_hex(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
    let pairs = (0..text.len()).step_by(2);
    pairs.map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn voice(key: &str) -> Voice {
        let connection = serde_json::json!({
            "transport": "tcp", "ip": "127.0.0.1", "shell_port": 1, "control_port": 2, "iopub_port": 3,
            "stdin_port": 4, "hb_port": 5, "key": key, "signature_scheme": "hmac-sha256",
        });
        Voice::new(&serde_json::from_value(connection).unwrap()).ok().unwrap()
    }

    #[test]
    fn only_who_has_the_key_is_heard() {
        let (ours, other) = (voice("a"), voice("b"));
        let said =
            |voice: &Voice| voice.tell(None, "execute_request", &serde_json::json!({"code": "1"}));
        let heard = ours.hear(said(&ours)).unwrap();
        assert_eq!(heard.kind, "execute_request");
        assert_eq!(heard.content::<serde_json::Value>().unwrap()["code"], "1");
        assert!(ours.hear(said(&other)).is_none());
        let changed = |at: usize, by: &'static [u8]| {
            let mut frames = said(&ours).into_vec();
            frames[at] = Bytes::from_static(by);
            ours.hear(ZmqMessage::try_from(frames).unwrap())
        };
        assert!(changed(2, b"").is_none());
        assert!(changed(2, b"zz").is_none());
        assert!(changed(2, "é".as_bytes()).is_none());
        assert!(changed(6, b"{\"code\": \"2\"}").is_none());
        assert!(ours.hear(ZmqMessage::from("x")).is_none());
    }
}
