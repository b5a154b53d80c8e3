//! Where the ends of a tenant's jobs may be told, and how whoever is told knows who says so.
//!
//! The address is a stranger's choice, and this server can reach what strangers cannot. So a request goes only to
//! public addresses and only over TLS, unless the operator's settings name the host, and to the very address that was
//! looked at.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use axum::http::Uri;
use hmac::{Hmac, KeyInit, Mac};
use serde::Deserialize;
use sha2::Sha256;

use super::problem::Problem;
use super::tools::Secret;

/// Where a tenant's jobs may tell of their ends, as an operator declares it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// What requests are signed with.
    pub secret: Secret,
    /// Hosts, as `HOST` or `HOST:PORT`, that may have private addresses and be told without TLS.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// The same, ready for use.
pub(super) struct Webhooks {
    secret: String,
    hosts: Vec<String>,
}

/// The longest address.
const MAX_ADDRESS: usize = 2048;

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub host: String,
    pub port: u16,
    pub is_tls: bool,
    pub path: String,
    /// The settings name it.
    is_named: bool,
}

impl Webhooks {
    /// What a tenant's settings say, or what is wrong with the secret.
    pub fn of(config: &WebhookConfig) -> Result<Webhooks, String> {
        let secret = config.secret.read()?;
        if secret.len() < 16 {
            return Err("must have at least 16 characters".into());
        }
        let hosts = config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Webhooks { secret, hosts })
    }

    /// Where an address leads, or why nothing goes there.
    pub fn target(&self, address: &str) -> Result<Target, &'static str> {
        if address.len() > MAX_ADDRESS {
            return Err("it is longer than 2048 bytes");
        }
        let uri: Uri = address.parse().map_err(|_wrong| "it is no URL")?;
        let is_tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err("it must begin with https://"),
        };
        let authority = uri.authority().ok_or("it names no host")?;
        if authority.as_str().contains('@') {
            return Err("it has a user or a password in it");
        }
        let host = authority.host().to_ascii_lowercase();
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        let with_port = format!("{host}:{port}");
        let is_named = self.hosts.iter().any(|named| *named == host || *named == with_port);
        if !is_tls && !is_named {
            return Err(
                "it must begin with https://, unless the operator's settings name the host",
            );
        }
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
        if !is_named && literal.is_ok_and(|address| !is_public(address)) {
            return Err("it is not a public address");
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        Ok(Target { host, port, is_tls, path, is_named })
    }

    /// The value of the header that shows who sent a body, and when.
    pub fn signature(&self, now: u64, body: &[u8]) -> Option<String> {
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()).ok()?;
        mac.update(now.to_string().as_bytes());
        mac.update(b".");
        mac.update(body);
        let bytes = mac.finalize().into_bytes();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Some(format!("t={now},v1={hex}"))
    }
}

/// A problem if a tenant's job cannot tell of its end there.
pub(super) fn check(webhooks: Option<&Webhooks>, address: &str) -> Result<(), Problem> {
    let none = || {
        Problem::request("this tenant has no webhooks").hint(
            "leave `webhook` out and ask for the job, or have the operator set webhooks.secret",
        )
    };
    webhooks.ok_or_else(none)?.target(address).map(|_target| ()).map_err(|why| {
        Problem::request(format_args!("the webhook cannot be used: {why}"))
            .hint("webhooks go to public addresses over TLS; the operator may name others")
    })
}

/// Whether anybody on the Internet could be there.
fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            !(address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_documentation()
                || a == 0
                || a >= 224
                || (a == 100 && (64..128).contains(&b))
                || (a == 192 && b == 0 && c == 0)
                || (a == 192 && b == 88 && c == 99)
                || (a == 198 && (18..20).contains(&b)))
        }
        IpAddr::V6(address) => {
            // What is assigned for everybody, without what leads to other networks or is for examples.
            let [first, second, ..] = address.segments();
            (first & 0xe000) == 0x2000
                && !(first == 0x2001 && (second < 0x200 || second == 0xdb8))
                && first != 0x2002
                && !(first == 0x3fff && second < 0x1000)
                && address != Ipv6Addr::UNSPECIFIED
        }
    }
}

/// An address of the host that may be connected to.
pub(super) async fn address(target: &Target) -> Option<SocketAddr> {
    let host = target.host.trim_matches(['[', ']']);
    let all: Vec<_> = tokio::net::lookup_host((host, target.port)).await.ok()?.collect();
    // A name that leads to both kinds is somebody's trick.
    let may = target.is_named || all.iter().all(|place| is_public(place.ip()));
    all.into_iter().next().filter(|_| may)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn webhooks() -> Webhooks {
        let hosts = vec!["10.0.0.5:8080".into(), "hooks.internal".into()];
        Webhooks { secret: "0123456789abcdef".into(), hosts }
    }

    #[test]
    fn strangers_reach_no_private_address() {
        for private in [
            "127.0.0.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "203.0.113.1",
            "224.0.0.1",
            "255.255.255.255",
            "::1",
            "::",
            "fe80::1",
            "fc00::1",
            "::ffff:127.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2001::1",
            "2001:db8::1",
            "ff02::1",
        ] {
            assert!(!is_public(private.parse().expect("an address")), "{private}");
        }
        for public in ["1.1.1.1", "93.184.216.34", "2606:4700:4700::1111", "2001:4860:4860::8888"] {
            assert!(is_public(public.parse().expect("an address")), "{public}");
        }
    }

    #[test]
    fn an_address_is_public_and_encrypted_unless_it_is_named() {
        let webhooks = webhooks();
        for good in [
            "https://example.com/a?b=c",
            "https://1.1.1.1/",
            "http://10.0.0.5:8080/x",
            "https://hooks.internal:8443/",
            "http://HOOKS.internal/",
        ] {
            assert!(webhooks.target(good).is_ok(), "{good}");
        }
        for wrong in [
            "",
            "ftp://example.com",
            "http://example.com/",
            "https://127.0.0.1/",
            "https://[::1]/",
            "https://169.254.169.254/latest",
            "http://10.0.0.5:81/",
            "https://u:p@example.com/",
            "example.com",
            "https://",
            "http://10.0.0.5/",
            "https://[::ffff:10.0.0.1]/",
        ] {
            assert!(webhooks.target(wrong).is_err(), "{wrong}");
        }
        assert!(check(None, "https://example.com/").is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_to_a_private_address_is_not_followed() {
        let target = webhooks().target("https://localhost/").expect("a name");
        assert_eq!(address(&target).await, None);
    }

    #[test]
    fn a_signature_has_the_time_in_it() {
        // Computed with another implementation of RFC 2104.
        let signature = webhooks().signature(1_700_000_000, b"{}").expect("a signature");
        assert_eq!(
            signature,
            "t=1700000000,v1=e4f8e2ecae2295b2ddb2f0b5584c8275e226c0ebe9b3b819e70156bb67122e3e"
        );
        assert_ne!(webhooks().signature(1_700_000_001, b"{}"), Some(signature));
    }
}
