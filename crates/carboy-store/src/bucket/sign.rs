//! Addresses that anybody may use for one request and for a short time: AWS Signature Version 4, in the query.
//!
//! Whoever has such an address can do with it what was signed, and nothing else: the method, the key and the headers
//! are part of the signature.

use std::fmt::Write;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// What is signed with.
#[derive(Clone)]
pub(super) struct Credentials {
    pub id: String,
    pub secret: String,
    pub region: String,
}

/// What an address is good for.
pub(super) struct Signed<'a> {
    pub method: &'a str,
    /// As in the header `Host`.
    pub host: &'a str,
    /// Escaped as [`escaped_path`] does it.
    pub path: &'a str,
    /// Names and values, as they are.
    pub query: &'a [(&'a str, &'a str)],
    /// Headers that the request must have beside `Host`, with names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
    /// When it begins to hold: `20130524T000000Z`.
    pub time: &'a str,
    /// For how many seconds.
    pub seconds: u32,
}

impl Signed<'_> {
    /// The path with the query that makes it valid.
    pub fn with(&self, credentials: &Credentials) -> String {
        let Credentials { id, secret, region } = credentials;
        let day = self.time.split('T').next().unwrap_or_default();
        let scope = format!("{day}/{region}/s3/aws4_request");
        let mut headers: Vec<_> = self.headers.to_vec();
        headers.push(("host", self.host));
        headers.sort_unstable();
        let names: Vec<_> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let (credential, seconds) = (format!("{id}/{scope}"), self.seconds.to_string());
        let mut query: Vec<(String, String)> = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", &credential),
            ("X-Amz-Date", self.time),
            ("X-Amz-Expires", &seconds),
            ("X-Amz-SignedHeaders", &names),
        ]
        .iter()
        .chain(self.query)
        .map(|(name, value)| (escaped(name), escaped(value)))
        .collect();
        query.sort_unstable();
        let query: Vec<_> = query.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let query = query.join("&");
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
        // The address is made before there is a body. A header may say what body it is for.
        let (method, path) = (self.method, self.path);
        let request = format!("{method}\n{path}\n{query}\n{headers}\n{names}\nUNSIGNED-PAYLOAD");
        let digest = hex(&Sha256::digest(request));
        let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{digest}", self.time);
        let words = [day, region, "s3", "aws4_request", &text];
        let signature = words
            .iter()
            .fold(format!("AWS4{secret}").into_bytes(), |key, word| mac(&key, word.as_bytes()));
        format!("{path}?{query}&X-Amz-Signature={}", hex(&signature))
    }
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    // Every length is a key.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else { return Vec::new() };
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A text with everything but letters, digits and `-_.~` escaped.
fn escaped(text: &str) -> String {
    escaped_but(text, b"-_.~")
}

/// The same for a path, which keeps its slashes.
pub(super) fn escaped_path(path: &str) -> String {
    escaped_but(path, b"-_.~/")
}

fn escaped_but(text: &str, plain: &[u8]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || plain.contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            write!(escaped, "%{byte:02X}").ok(); // A string takes everything.
        }
    }
    escaped
}

/// A text that a list of keys has, with its escapes resolved; none if that is no text.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? << 4 | digit()?).ok()?
            }
            plain => plain,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of "Authenticating Requests: Using Query Parameters" in the reference of Amazon S3.
    #[test]
    fn the_published_example_is_signed_as_it_is_published() {
        let credentials = Credentials {
            id: "AKIAIOSFODNN7EXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            region: "us-east-1".into(),
        };
        let signed = Signed {
            method: "GET",
            host: "examplebucket.s3.amazonaws.com",
            path: "/test.txt",
            query: &[],
            headers: &[],
            time: "20130524T000000Z",
            seconds: 86400,
        };
        let expected = "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
            &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
            &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
            &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
        assert_eq!(signed.with(&credentials), expected);
        let other = Signed { headers: &[("content-length", "5")], ..signed };
        assert!(other.with(&credentials).contains("X-Amz-SignedHeaders=content-length%3Bhost&"));
    }

    #[test]
    fn what_is_escaped_is_read_again() {
        let name = "a \u{e9}+%&b/c~.txt";
        assert_eq!(escaped(name), "a%20%C3%A9%2B%25%26b%2Fc~.txt");
        assert_eq!(escaped_path("/a b/c"), "/a%20b/c");
        assert_eq!(unescaped(&escaped(name)).as_deref(), Some(name));
        assert_eq!(unescaped("a+b").as_deref(), Some("a b"));
        for wrong in ["%", "%4", "%zz", "%ff"] {
            assert_eq!(unescaped(wrong), None, "{wrong}");
        }
    }
}
