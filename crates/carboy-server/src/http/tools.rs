//! Tools of a tenant that are HTTP endpoints: the server calls them, never the jar.
//!
//! What a guest passes is in the body and nowhere else; address, method and headers are the operator's. An answer is
//! bounded in time and size, a redirect is not followed, and what goes wrong is told to the guest in words that have nothing of the
//! endpoint's answer and nothing of a header in them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, TRANSFER_ENCODING};
use axum::http::{HeaderMap, HeaderValue, Method};
use carboy_engine::{Answer, Call};
use carboy_protocol::{Tool, ToolFault, ToolFaultKind, json};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::client::{Endpoint, Unanswered};

/// A tool that is an HTTP endpoint, as an operator declares it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolConfig {
    /// Where it is: `http://HOST[:PORT]/PATH`.
    pub url: String,
    /// `POST`, `PUT` or `PATCH`.
    #[serde(default = "post")]
    pub method: String,
    /// Headers that are sent with each call.
    #[serde(default)]
    pub headers: BTreeMap<String, Secret>,
    /// What it does, for whoever writes code.
    #[serde(default)]
    pub doc: String,
    /// The names of its parameters, in order. The body of a call is an object with these names.
    #[serde(default)]
    pub parameters: Vec<String>,
    /// How long a call may take. It does not count as the run's time.
    #[serde(default = "usual_time")]
    pub timeout_ms: u64,
    /// How many bytes an answer may have.
    #[serde(default = "usual_size")]
    pub answer_bytes: usize,
    /// How many calls there are at once, of all runs of the tenant. Further ones wait, and that counts as their time.
    #[serde(default = "usual_count")]
    pub at_once: usize,
}

/// A value that may be in the settings, in the environment or in a file.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Secret {
    /// In the settings.
    Value(String),
    /// In this variable of the environment.
    Env(String),
    /// In this file, without spaces and line ends around it.
    File(std::path::PathBuf),
}

/// What is secret is in no log.
impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Secret")
    }
}

impl Secret {
    pub(super) fn read(&self) -> Result<String, String> {
        match self {
            Secret::Value(value) => Ok(value.clone()),
            Secret::Env(name) => {
                std::env::var(name).map_err(|_unset| format!("the variable {name} is not set"))
            }
            Secret::File(path) => std::fs::read_to_string(path)
                .map(|text| text.trim().to_owned())
                .map_err(|error| format!("{} cannot be read: {error}", path.display())),
        }
    }
}

fn post() -> String {
    "POST".into()
}

fn usual_time() -> u64 {
    10_000
}

fn usual_size() -> usize {
    1 << 20
}

fn usual_count() -> usize {
    8
}

/// An endpoint that can be called.
pub(super) struct HttpTool {
    name: String,
    endpoint: Endpoint,
    method: Method,
    headers: HeaderMap,
    config: ToolConfig,
    places: Semaphore,
}

/// The tools of a tenant.
pub(super) type HttpTools = BTreeMap<String, Arc<HttpTool>>;

impl HttpTool {
    /// The tool that is declared so, or which setting is wrong and why.
    pub fn of(name: &str, config: &ToolConfig) -> Result<HttpTool, (String, String)> {
        let wrong = |field: &str, why: &str| (field.to_owned(), why.to_owned());
        if !is_name(name) || config.parameters.iter().any(|name| !is_name(name)) {
            return Err(wrong(
                "parameters",
                "a tool and its parameters have names as functions in Python have",
            ));
        }
        let endpoint = Endpoint::of(&config.url, 80).map_err(|why| wrong("url", why))?;
        let method = match config.method.as_str() {
            "POST" => Method::POST,
            "PUT" => Method::PUT,
            "PATCH" => Method::PATCH,
            _ => {
                return Err(wrong(
                    "method",
                    "must be POST, PUT or PATCH: arguments are sent in a body",
                ));
            }
        };
        if !(1..=Tool::MAX_BUDGET_MS).contains(&config.timeout_ms) {
            return Err(wrong("timeout_ms", "must be at least 1, and at most a day"));
        }
        if config.at_once == 0 || config.at_once > 1_000 || config.doc.len() > Tool::MAX_DOC / 2 {
            return Err(wrong("at_once", "must be between 1 and 1000, and `doc` at most 32 KiB"));
        }
        if config.answer_bytes > 64 << 20 {
            return Err(wrong("answer_bytes", "must be at most 64 MiB"));
        }
        let mut headers = HeaderMap::new();
        for (header, secret) in &config.headers {
            let field = format!("headers.{header}");
            let parsed = HeaderName::from_bytes(header.as_bytes())
                .map_err(|_wrong| wrong(&field, "is no header"))?;
            if [HOST, CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING].contains(&parsed) {
                return Err(wrong(&field, "is set by carboy itself"));
            }
            let value = secret.read().map_err(|why| (field.clone(), why))?;
            let mut value = HeaderValue::from_str(&value)
                .map_err(|_wrong| wrong(&field, "its value is none of a header"))?;
            value.set_sensitive(true);
            headers.insert(parsed, value);
        }
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let places = Semaphore::new(config.at_once);
        Ok(HttpTool {
            name: name.into(),
            endpoint,
            method,
            headers,
            config: config.clone(),
            places,
        })
    }

    /// The tool as a job is offered it.
    pub fn offered(&self) -> Tool {
        let signature = format!("{}({})", self.name, self.config.parameters.join(", "));
        Tool {
            name: self.name.clone(),
            doc: format!("{signature}\n\n{}", self.config.doc).trim_end().to_owned(),
            is_async: false,
            budget_ms: self.config.timeout_ms,
        }
    }

    /// Calls it, and gives the answer.
    pub async fn answer(&self, call: Call) -> Answer {
        let number = call.call;
        let time = Duration::from_millis(self.config.timeout_ms);
        let result = match self.body(&call) {
            Ok(body) => timeout(time, self.ask(body)).await.unwrap_or_else(|_elapsed| {
                Err(fault(format!(
                    "{} did not answer within {} ms",
                    self.name, self.config.timeout_ms
                )))
            }),
            Err(message) => Err(ToolFault { kind: ToolFaultKind::Arguments, message }),
        };
        Answer { call: number, result }
    }

    /// What is told where nothing more can be held for the tenant.
    pub fn has_no_room(&self) -> ToolFault {
        fault(format!("there is no memory for what {} answered", self.name))
    }

    async fn ask(&self, body: Vec<u8>) -> Result<Option<Box<RawValue>>, ToolFault> {
        let Ok(_place) = self.places.acquire().await else {
            return Err(fault(format!("{} is gone", self.name)));
        };
        let most = self.config.answer_bytes;
        let answered =
            self.endpoint.send(self.method.clone(), self.headers.clone(), body, most).await;
        let (status, bytes) = answered.map_err(|unanswered| match unanswered {
            // Where it is, and why it was not reached, is the operator's to know.
            Unanswered::Broken => fault(format!("{} could not be reached", self.name)),
            Unanswered::TooLong => {
                fault(format!("{} answered with more than {most} bytes", self.name))
            }
        })?;
        if !status.is_success() {
            return Err(fault(format!(
                "{} answered with the status {}",
                self.name,
                status.as_u16()
            )));
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let value = json::check(&bytes, json::MAX_DEPTH)
            .ok()
            .and_then(|()| serde_json::from_slice(&bytes).ok());
        value
            .map(Some)
            .ok_or_else(|| fault(format!("{} answered with something that is not JSON", self.name)))
    }

    /// The arguments of a call as one object, or what is wrong with them.
    fn body(&self, call: &Call) -> Result<Vec<u8>, String> {
        let unreadable = |_error| "the arguments cannot be read".to_owned();
        let args: Vec<&RawValue> = serde_json::from_str(call.args.get()).map_err(unreadable)?;
        let mut named: BTreeMap<String, &RawValue> =
            serde_json::from_str(call.kwargs.get()).map_err(unreadable)?;
        let names = &self.config.parameters;
        if args.len() > names.len() {
            return Err(format!("{} takes {} arguments", self.name, names.len()));
        }
        if let Some(other) = named.keys().find(|name| !names.contains(name)) {
            return Err(format!("{} has no parameter `{}`", self.name, other.escape_debug()));
        }
        for (name, value) in names.iter().zip(args) {
            if named.insert(name.clone(), value).is_some() {
                return Err(format!("{} got `{name}` twice", self.name));
            }
        }
        serde_json::to_vec(&named).map_err(unreadable)
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn fault(message: String) -> ToolFault {
    ToolFault { kind: ToolFaultKind::Tool, message }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    fn config(url: &str) -> ToolConfig {
        serde_json::from_value(serde_json::json!({
            "url": url, "parameters": ["query", "most"], "headers": {"X-Key": {"value": "hidden"}},
        }))
        .unwrap()
    }

    fn call(args: &str, kwargs: &str) -> Call {
        let raw = |text: &str| RawValue::from_string(text.into()).unwrap();
        Call { call: 7, tool: "search".into(), args: raw(args), kwargs: raw(kwargs) }
    }

    /// An endpoint that answers one request with this, and gives what it was sent.
    async fn once(answer: &'static str) -> (String, tokio::task::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/find", listener.local_addr().unwrap());
        let heard = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut heard = String::new();
            while !heard.ends_with('}') {
                let mut piece = [0; 1024];
                let count = stream.read(&mut piece).await.unwrap();
                heard.push_str(std::str::from_utf8(&piece[..count]).unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            heard
        });
        (url, heard)
    }

    #[tokio::test]
    async fn arguments_are_in_the_body_and_headers_are_the_operators() {
        let (url, heard) = once("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n[1, 2]\n").await;
        let tool = HttpTool::of("search", &config(&url)).unwrap();
        let answer = tool.answer(call(r#"["a\r\nX: b"]"#, r#"{"most": 3}"#)).await;
        assert_eq!((answer.call, answer.result.unwrap().unwrap().get()), (7, "[1, 2]"));
        let heard = heard.await.unwrap();
        let (head, body) = heard.split_once("\r\n\r\n").unwrap();
        assert!(
            head.starts_with("POST /find HTTP/1.1\r\n") && head.contains("x-key: hidden"),
            "{head}"
        );
        assert_eq!(body, r#"{"most":3,"query":"a\r\nX: b"}"#);
    }

    #[tokio::test]
    async fn what_goes_wrong_is_told_without_the_endpoints_words() {
        for (answer, told) in [
            (
                "HTTP/1.1 500 Oops\r\nContent-Length: 6\r\n\r\nhidden",
                "search answered with the status 500",
            ),
            (
                "HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
                "search answered with the status 302",
            ),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhidden",
                "search answered with something that is not JSON",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[1]", "search could not be reached"),
            ("nonsense\r\n\r\n", "search could not be reached"),
        ] {
            let (url, heard) = once(answer).await;
            let tool = HttpTool::of("search", &config(&url)).unwrap();
            let fault = tool.answer(call("[]", "{}")).await.result.unwrap_err();
            assert_eq!((fault.kind, fault.message.as_str()), (ToolFaultKind::Tool, told));
            heard.await.unwrap();
        }
        let (url, _heard) = once("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\"1234567\"").await;
        let tool = HttpTool::of("search", &ToolConfig { answer_bytes: 8, ..config(&url) }).unwrap();
        let fault = tool.answer(call("[]", "{}")).await.result.unwrap_err();
        assert_eq!(fault.message, "search answered with more than 8 bytes");
    }

    #[tokio::test]
    async fn an_endpoint_that_does_not_answer_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let tool = HttpTool::of("search", &ToolConfig { timeout_ms: 20, ..config(&url) }).unwrap();
        let fault = tool.answer(call("[]", "{}")).await.result.unwrap_err();
        assert_eq!(fault.message, "search did not answer within 20 ms");
    }

    #[tokio::test]
    async fn arguments_that_do_not_fit_are_the_codes_fault() {
        let tool = HttpTool::of("search", &config("http://127.0.0.1:9")).unwrap();
        for (args, kwargs) in
            [("[1, 2, 3]", "{}"), ("[]", r#"{"other": 1}"#), ("[1]", r#"{"query": 1}"#)]
        {
            let fault = tool.answer(call(args, kwargs)).await.result.unwrap_err();
            assert_eq!(fault.kind, ToolFaultKind::Arguments, "{args} {kwargs}");
        }
        assert_eq!(tool.offered().doc, "search(query, most)");
    }

    #[test]
    fn settings_that_cannot_be_used_are_named_and_secrets_are_not_shown() {
        let good = config("http://127.0.0.1:9");
        assert!(!format!("{good:?}").contains("hidden"));
        let field = |name: &str, config: ToolConfig| {
            HttpTool::of(name, &config).err().map(|(field, _)| field)
        };
        assert_eq!(field("a b", good.clone()).as_deref(), Some("parameters"));
        for (wrong, named) in [
            (ToolConfig { url: "https://x".into(), ..good.clone() }, "url"),
            (ToolConfig { method: "GET".into(), ..good.clone() }, "method"),
            (ToolConfig { timeout_ms: 0, ..good.clone() }, "timeout_ms"),
            (ToolConfig { at_once: 0, ..good.clone() }, "at_once"),
        ] {
            assert_eq!(field("a", wrong).as_deref(), Some(named));
        }
        let unset = Secret::Env("CARBOY_TEST_NO_SUCH_VARIABLE".into());
        let headers = [("X-Key".to_owned(), unset)].into();
        assert_eq!(
            field("a", ToolConfig { headers, ..good.clone() }).as_deref(),
            Some("headers.X-Key")
        );
        let headers = [("Host".to_owned(), Secret::Value("x".into()))].into();
        assert_eq!(field("a", ToolConfig { headers, ..good }).as_deref(), Some("headers.Host"));
    }
}
