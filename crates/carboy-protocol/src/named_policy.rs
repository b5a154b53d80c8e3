//! A policy where a job names one: written out, or by the name of a preset.

use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use crate::policy::Policy;
use crate::preset::Preset;

/// Reads a policy that is written out, or the name of a preset in its place.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Policy, D::Error> {
    struct PolicyOrName;

    impl<'de> Visitor<'de> for PolicyOrName {
        type Value = Policy;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("a policy, or the name of a preset")
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Policy, E> {
            let preset = Preset::ALL.into_iter().find(|preset| preset.as_str() == name);
            preset.map(Policy::preset).ok_or_else(|| {
                let names = Preset::ALL.map(Preset::as_str).join(", ");
                E::custom(format_args!("there is no preset {name:?}, only {names}"))
            })
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Policy, A::Error> {
            Policy::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_any(PolicyOrName)
}

#[cfg(test)]
mod tests {
    use crate::{Job, Opening, Policy, Preset};

    #[test]
    fn a_policy_may_be_named_by_its_preset() {
        let job = |text: &str| serde_json::from_str::<Job>(text).map(|job| job.policy);
        for preset in Preset::ALL {
            let text = format!(r#"{{"code": "", "policy": "{}"}}"#, preset.as_str());
            assert_eq!(job(&text).expect("a job"), Policy::preset(preset));
        }
        let opening: Opening = serde_json::from_str(r#"{"policy": "low"}"#).expect("an opening");
        assert_eq!(opening.policy, Policy::preset(Preset::Low));
        let whole = job(r#"{"code": "", "policy": {"limits": {"wall_ms": 7}}}"#).expect("a job");
        assert_eq!(whole.limits.wall_ms, 7);
        assert_eq!(job(r#"{"code": ""}"#).expect("a job"), Policy::default());
        let wrong = job(r#"{"code": "", "policy": "huge"}"#).expect_err("no preset").to_string();
        assert!(wrong.contains("low, medium, high, max"), "{wrong}");
        for text in ["null", "5", "[]", "true", r#"{"more": 1}"#] {
            assert!(job(&format!(r#"{{"code": "", "policy": {text}}}"#)).is_err(), "{text}");
        }
    }
}
