//! TLS, with a certificate of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use carboy_server::http::TlsConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::server::*;

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).ok();
    }
}

/// A certificate for `localhost`, which vouches for itself.
fn certificate() -> (Folder, TlsConfig) {
    let name = format!("carboy-tls-{}", carboy_engine::new_id().unwrap());
    let folder = Folder(std::env::temp_dir().join(name));
    std::fs::create_dir(&folder.0).unwrap();
    let (certificate, key) = (folder.0.join("certificate.pem"), folder.0.join("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-addext", "basicConstraints=CA:FALSE"])
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    (folder, TlsConfig { certificate, key })
}

fn connector(certificate: &Path) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

#[tokio::test]
async fn runs_are_answered_over_tls_and_nothing_without_it() {
    let (_folder, tls) = certificate();
    let connector = connector(&tls.certificate);
    let server = Server::start(|config| config.tls = Some(tls)).await;
    let name = ServerName::try_from("localhost").unwrap();
    let tcp = server.connect().await.0;
    let mut client = within(connector.connect(name, tcp)).await.unwrap();
    client
        .write_all(
            post("acme", "ok")
                .replace("Content-Type", "Connection: close\r\nContent-Type")
                .as_bytes(),
        )
        .await
        .unwrap();
    let mut answer = String::new();
    within(client.read_to_string(&mut answer)).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200 ") && answer.contains("\"status\":\"ok\""),
        "{answer}"
    );
    // Who does not speak TLS runs nothing and is let go.
    one(&server.begun).await;
    let mut plain = server.connect().await;
    plain.send(&post("acme", "ok")).await;
    assert!(!plain.is_closed_raw().await.starts_with(b"HTTP"));
    assert_eq!(server.behind.policies.lock().unwrap().len(), 1);
    server.end().await;
}

#[tokio::test]
async fn a_handshake_that_never_comes_is_not_waited_for() {
    let (_folder, tls) = certificate();
    let server = Server::start(|config| {
        config.tls = Some(tls);
        config.bounds.header_ms = 50;
    })
    .await;
    let mut silent = server.connect().await;
    assert!(silent.is_closed_raw().await.is_empty());
    // Nor when the server ends.
    let mut waiting = server.connect().await;
    server.end().await;
    assert!(waiting.is_closed_raw().await.is_empty());
}
