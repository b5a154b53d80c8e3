//! A small HTTP client, for a collector and for the operator's own endpoints.
//!
//! One connection for each request, no redirects, no TLS, and never more bytes of an answer than were asked for. Addresses
//! come from settings, never from a guest.

use axum::body::Bytes;
use axum::http::header::HOST;
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Where requests go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// What is connected to.
    pub place: String,
    pub host: HeaderValue,
    /// The path, with a query if there is one.
    pub path: String,
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unanswered {
    /// It could not be reached, or broke off.
    Broken,
    /// It answered with more than was asked for.
    TooLong,
}

impl Endpoint {
    /// From an address such as `http://localhost:4318/v1`, or what is wrong with it.
    pub fn of(address: &str, usual_port: u16) -> Result<Endpoint, &'static str> {
        let uri: Uri = address.parse().map_err(|_wrong| "it is no URL")?;
        if uri.scheme_str() != Some("http") {
            return Err(
                "it must begin with http://; TLS is not spoken here, but a proxy on this host can",
            );
        }
        let authority = uri.authority().ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err(
                "it has a user or a password in it; a header from the environment or a file can have those",
            );
        }
        let place = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(usual_port));
        let host = HeaderValue::from_str(authority.as_str())
            .map_err(|_wrong| "its host cannot be used")?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Endpoint { place, host, path: path.into() })
    }

    /// Sends a request, and gives the status and the body of the answer.
    pub async fn send(
        &self,
        method: Method,
        headers: HeaderMap,
        body: Vec<u8>,
        most: usize,
    ) -> Result<(StatusCode, Bytes), Unanswered> {
        let broken = |_error: hyper::Error| Unanswered::Broken;
        let stream = TcpStream::connect(&self.place).await.map_err(|_error| Unanswered::Broken)?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        // It ends with this, whoever drops it.
        let _connection = Aborted(tokio::spawn(connection));
        let mut request = Request::new(Full::new(Bytes::from(body)));
        *request.method_mut() = method;
        *request.uri_mut() = self.path.parse().map_err(|_error| Unanswered::Broken)?;
        *request.headers_mut() = headers;
        request.headers_mut().insert(HOST, self.host.clone());
        let answer = sender.send_request(request).await.map_err(broken)?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), most).collect().await;
        let body = body.map_err(|error| match error.downcast::<hyper::Error>() {
            Ok(error) => broken(*error),
            Err(_too_long) => Unanswered::TooLong,
        })?;
        Ok((status, body.to_bytes()))
    }
}

struct Aborted<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for Aborted<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_an_address_without_tls_and_without_a_password() {
        let endpoint = |text| Endpoint::of(text, 80).map(|found| (found.place, found.path));
        assert_eq!(endpoint("http://localhost"), Ok(("localhost:80".into(), "/".into())));
        assert_eq!(endpoint("http://[::1]:4000/"), Ok(("[::1]:4000".into(), "/".into())));
        assert_eq!(endpoint("http://c:1/a/b?c=d"), Ok(("c:1".into(), "/a/b?c=d".into())));
        for wrong in ["", "localhost:4318", "https://c", "http://u:p@c", "http://", "/a"] {
            assert!(Endpoint::of(wrong, 80).is_err(), "{wrong}");
        }
    }
}
