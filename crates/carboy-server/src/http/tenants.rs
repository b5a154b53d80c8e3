//! Who may come in: the keys, and the tenant that each speaks for.

use std::sync::Arc;
use std::time::SystemTime;

use carboy_engine::RequestError;

use super::config::{DoorConfig, KeyConfig, Scope, TenantConfig};
use super::key;
use super::tenant::Tenant;

/// The most keys, of all tenants: each request is compared with every one.
const MAX_KEYS: usize = 1000;

/// The longest name of a tenant.
const MAX_NAME: usize = 64;

/// A setting that cannot be used.
#[derive(Debug, PartialEq, Eq)]
pub struct ConfigFault {
    /// Which one, as in `tenants.acme.keys`.
    pub setting: String,
    /// What is wrong with it.
    pub why: String,
}

impl std::fmt::Display for ConfigFault {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.setting, self.why)
    }
}

impl std::error::Error for ConfigFault {}

struct Key {
    sha256: [u8; 32],
    expires: Option<SystemTime>,
    scopes: Vec<Scope>,
    tenant: Arc<Tenant>,
}

/// All tenants, and the keys that speak for them.
pub(super) struct Tenants {
    all: Vec<Arc<Tenant>>,
    keys: Vec<Key>,
}

/// What a key turned out to be.
pub(super) enum Found {
    /// One that speaks for a tenant.
    Valid(Arc<Tenant>, Vec<Scope>),
    /// One that did.
    Expired,
    /// None of ours.
    Unknown,
}

impl Tenants {
    pub fn of(config: &DoorConfig) -> Result<Tenants, ConfigFault> {
        let mut tenants = Tenants { all: vec![], keys: vec![] };
        for (name, config) in &config.tenants {
            check(name, config)?;
            let tenant = Arc::new(Tenant::new(tenants.all.len(), name.clone(), config));
            for key in &config.keys {
                let key = parsed(key, &tenant)?;
                if tenants.keys.iter().any(|other| other.sha256 == key.sha256) {
                    return Err(fault(name, "keys", "a digest stands there twice"));
                }
                tenants.keys.push(key);
            }
            tenants.all.push(tenant);
        }
        if tenants.keys.len() > MAX_KEYS {
            let why = format!("there are more than {MAX_KEYS} keys");
            return Err(ConfigFault { setting: "tenants".into(), why });
        }
        Ok(tenants)
    }

    pub fn all(&self) -> &[Arc<Tenant>] {
        &self.all
    }

    /// Tenants for whom nobody can speak any more: they have keys, and each has expired.
    pub fn locked_out(&self, now: SystemTime) -> Vec<String> {
        let expired = |key: &&Key| key.expires.is_some_and(|expires| expires <= now);
        let of = |tenant: &Arc<Tenant>| -> Vec<_> {
            self.keys.iter().filter(|key| key.tenant.number == tenant.number).collect()
        };
        let is_out = |tenant: &&Arc<Tenant>| {
            let keys = of(tenant);
            !keys.is_empty() && keys.iter().all(expired)
        };
        self.all.iter().filter(is_out).map(|tenant| tenant.name.clone()).collect()
    }

    /// Whose key this is. How long it takes does not depend on which key it is, or how near to one.
    pub fn find(&self, presented: &str, now: SystemTime) -> Found {
        let digest = key::digest(presented);
        let mut found = None;
        for key in &self.keys {
            if key::is_same(&key.sha256, &digest) {
                found = Some(key);
            }
        }
        match found {
            Some(key) if key.expires.is_some_and(|expires| expires <= now) => Found::Expired,
            Some(key) => Found::Valid(key.tenant.clone(), key.scopes.clone()),
            None => Found::Unknown,
        }
    }
}

fn fault(tenant: &str, field: &str, why: impl Into<String>) -> ConfigFault {
    ConfigFault { setting: format!("tenants.{tenant}.{field}"), why: why.into() }
}

fn parsed(key: &KeyConfig, tenant: &Arc<Tenant>) -> Result<Key, ConfigFault> {
    let why = "a digest has 64 hexadecimal digits; `carboy serve --new-key` prints one";
    let sha256 = key::parsed(&key.sha256).ok_or_else(|| fault(&tenant.name, "keys.sha256", why))?;
    let why = "a moment is written as 2027-01-31 or 2027-01-31T12:00:00Z";
    let expires = match &key.expires {
        Some(text) => {
            Some(key::moment(text).ok_or_else(|| fault(&tenant.name, "keys.expires", why))?)
        }
        None => None,
    };
    Ok(Key { sha256, expires, scopes: key.scopes.clone(), tenant: tenant.clone() })
}

fn check(name: &str, config: &TenantConfig) -> Result<(), ConfigFault> {
    let usable = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(usable) {
        let why = format!("a name has 1 to {MAX_NAME} letters, digits, `-`, `_` or `.`");
        return Err(ConfigFault { setting: format!("tenants.{name:?}"), why });
    }
    config
        .ceiling
        .validate()
        .map_err(|faults| fault(name, "ceiling", RequestError::Policy(faults).to_string()))?;
    if config.ceiling.inputs_from.as_ref().is_some_and(|folders| !folders.is_empty()) {
        let why = "files of the host cannot be handed to runs over HTTP";
        return Err(fault(name, "ceiling.inputs_from", why));
    }
    if config.runs_at_once == 0 {
        return Err(fault(name, "runs_at_once", "must be at least 1"));
    }
    let rates = [
        ("runs_per_second", config.runs_per_second),
        ("cpu_seconds_per_minute", config.cpu_seconds_per_minute),
    ];
    for (field, rate) in rates {
        if rate.is_some_and(|rate| !(0.001..=1e6).contains(&rate)) {
            return Err(fault(name, field, "must be between 0.001 and 1000000"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn config(key: KeyConfig) -> DoorConfig {
        let tenant = TenantConfig { keys: vec![key], ..TenantConfig::default() };
        DoorConfig { tenants: [("acme".into(), tenant)].into(), ..DoorConfig::default() }
    }

    #[test]
    fn a_key_speaks_for_its_tenant_until_it_expires() {
        let (key, other) = ("one", "another");
        let expires = Some("2027-01-31".into());
        let config =
            config(KeyConfig { sha256: key::key_digest(key), scopes: Scope::usual(), expires });
        let tenants = Tenants::of(&config).expect("usable settings");
        let end = key::moment("2027-01-31").expect("a date");
        let before = end - Duration::from_secs(1);
        assert!(
            matches!(tenants.find(key, before), Found::Valid(tenant, _) if tenant.name == "acme")
        );
        assert!(matches!(tenants.find(key, end), Found::Expired));
        assert!(tenants.locked_out(before).is_empty());
        assert_eq!(tenants.locked_out(end), ["acme"]);
        assert!(matches!(tenants.find(other, UNIX_EPOCH), Found::Unknown));
        assert!(matches!(tenants.find("", UNIX_EPOCH), Found::Unknown));
    }

    #[test]
    fn settings_that_cannot_be_used_are_named() {
        let key = |sha256: &str, expires: Option<&str>| KeyConfig {
            sha256: sha256.into(),
            scopes: vec![],
            expires: expires.map(Into::into),
        };
        let digest = key::key_digest("one");
        let setting = |config| Tenants::of(&config).err().map(|fault| fault.setting);
        assert_eq!(setting(config(key("12", None))).as_deref(), Some("tenants.acme.keys.sha256"));
        assert_eq!(
            setting(config(key(&digest, Some("soon")))).as_deref(),
            Some("tenants.acme.keys.expires")
        );
        let mut twice = config(key(&digest, None));
        twice.tenants.insert("other".into(), twice.tenants["acme"].clone());
        assert_eq!(setting(twice).as_deref(), Some("tenants.other.keys"));
        for (field, change) in [
            ("runs_at_once", (|tenant| tenant.runs_at_once = 0) as fn(&mut TenantConfig)),
            ("runs_per_second", |tenant| tenant.runs_per_second = Some(f64::NAN)),
            ("cpu_seconds_per_minute", |tenant| tenant.cpu_seconds_per_minute = Some(0.0)),
            ("ceiling", |tenant| tenant.ceiling.limits.wall_ms = 0),
            ("ceiling.inputs_from", |tenant| tenant.ceiling.inputs_from = Some(vec!["/".into()])),
        ] {
            let mut wrong = config(key(&digest, None));
            wrong.tenants.values_mut().for_each(change);
            assert_eq!(setting(wrong), Some(format!("tenants.acme.{field}")));
        }
    }
}
