//! TLS: the certificate and key of the settings, and handshakes.

use std::path::Path;
use std::sync::Arc;

use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::config::TlsConfig;
use super::tenants::ConfigFault;

/// Whoever answers handshakes with what these files hold.
pub(super) fn acceptor(config: &TlsConfig) -> Result<TlsAcceptor, ConfigFault> {
    let fault = |setting: &str, file: &Path, why: &dyn std::fmt::Display| ConfigFault {
        setting: setting.into(),
        why: format!("{}: {why}", file.display()),
    };
    let unusable = |why: &dyn std::fmt::Display| fault("tls.certificate", &config.certificate, why);
    let certificates: Vec<_> = CertificateDer::pem_file_iter(&config.certificate)
        .and_then(Iterator::collect)
        .map_err(|error| unusable(&error))?;
    if certificates.is_empty() {
        return Err(unusable(&"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_file(&config.key)
        .map_err(|error| fault("tls.key", &config.key, &error))?;
    let mut server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(|error| fault("tls.key", &config.key, &error))?;
    server.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(server)))
}
