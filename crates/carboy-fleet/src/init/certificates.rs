//! Certificates: who signs them, for whom they are, and how long they are valid.
//!
//! A client's certificate cannot serve, and names no host: a node that was broken into cannot pass for a broker.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};

use super::broker::BrokerPlace;
use super::place::{InitError, Place};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// Clocks of hosts differ.
const BEFORE: Duration = DAY;

const OF_AUTHORITY: Duration = Duration::from_secs(10 * 365 * DAY.as_secs());
const OF_OTHERS: Duration = Duration::from_secs(2 * 365 * DAY.as_secs());

/// Who signs certificates: `NAME.pem` with its key in `NAME.key`, which stays in this folder.
pub struct Authority {
    certificate: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    /// The one in the folder, made if it is not there.
    pub fn of(place: &Place, name: &str, title: &str) -> Result<Authority, InitError> {
        let key = key(place, &format!("{name}.key"))?;
        // The same parameters and the same key are the same issuer to those who check.
        let mut params = params(title, OF_AUTHORITY);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let certificate = place
            .once(&format!("{name}.pem"), || Ok(params.self_signed(&key).map_err(unmade)?.pem()))?;
        Ok(Authority { certificate, issuer: Issuer::new(params, key) })
    }

    /// The certificate by which others know what this one signed.
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// `cert.pem` and `key.pem` for a client.
    pub fn identify_client(&self, place: &Place, home: &str, title: &str) -> Result<(), InitError> {
        let mut params = params(title, OF_OTHERS);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(place, &format!("{home}/cert.pem"), &format!("{home}/key.pem"), params)
    }

    /// `STEM.pem` and `STEM.key` for a broker, valid for the name of its host. Among brokers each is also a client.
    pub fn identify_broker(
        &self,
        place: &Place,
        home: &str,
        stem: &str,
        broker: &BrokerPlace,
    ) -> Result<(), InitError> {
        let named = CertificateParams::new(vec![broker.host.clone()]).map_err(unmade)?;
        let mut params = params(&broker.host, OF_OTHERS);
        params.subject_alt_names = named.subject_alt_names;
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(place, &format!("{home}/{stem}.pem"), &format!("{home}/{stem}.key"), params)
    }

    fn sign(
        &self,
        place: &Place,
        certificate: &str,
        key_file: &str,
        mut params: CertificateParams,
    ) -> Result<(), InitError> {
        let key = key(place, key_file)?;
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        place.once(certificate, || {
            Ok(params.signed_by(&key, &self.issuer).map_err(unmade)?.pem())
        })?;
        Ok(())
    }
}

fn params(title: &str, valid: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, title);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = date_time_ymd(1970, 1, 1) + since;
    params.not_before = now - BEFORE;
    params.not_after = now + valid;
    params
}

fn key(place: &Place, name: &str) -> Result<KeyPair, InitError> {
    let text = place.once(name, || Ok(KeyPair::generate().map_err(unmade)?.serialize_pem()))?;
    KeyPair::from_pem(&text)
        .map_err(|error| InitError::Unusable { file: place.0.join(name), why: error.to_string() })
}

fn unmade(error: rcgen::Error) -> InitError {
    InitError::Make { what: "a certificate", why: error.to_string() }
}
