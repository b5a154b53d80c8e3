//! Limits as a policy writes them: read by name, each in its unit, and described for the schema.

use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::{LimitName, Limits, Unit};
use crate::quantity;

impl<'de> Deserialize<'de> for Limits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Limits, D::Error> {
        deserializer.deserialize_struct("Limits", LimitName::NAMES, ByName)
    }
}

struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Limits;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("limits by name, such as {\"wall_ms\": 5000}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Limits, A::Error> {
        use de::Error;
        let mut limits = Limits::default();
        let mut read = Vec::new();
        while let Some(field) = map.next_key::<String>()? {
            let name = LimitName::from_name(&field)
                .ok_or_else(|| A::Error::unknown_field(&field, LimitName::NAMES))?;
            if read.contains(&name) {
                return Err(A::Error::duplicate_field(name.as_str()));
            }
            read.push(name);
            limits.set(name, map.next_value_seed(Value(name.row().unit))?);
        }
        Ok(limits)
    }
}

struct Value(Unit);

impl<'de> DeserializeSeed<'de> for Value {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u64, D::Error> {
        match self.0 {
            Unit::Bytes => quantity::bytes(deserializer),
            Unit::Milliseconds | Unit::Count => u64::deserialize(deserializer),
        }
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Limits {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Limits".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        use serde_json::{Map, Value, json};
        let described = |name: &LimitName| {
            let row = name.row();
            let number = json!({ "type": "integer", "minimum": row.least, "maximum": row.most });
            let text = json!({ "type": "string", "pattern": quantity::pattern() });
            let mut schema = match row.unit {
                Unit::Bytes => json!({ "anyOf": [number, text] }),
                Unit::Milliseconds | Unit::Count => number,
            };
            schema["description"] = row.doc().into();
            schema["default"] = row.default.into();
            (row.field.to_owned(), schema)
        };
        let properties: Map<String, Value> = LimitName::ALL.iter().map(described).collect();
        schemars::json_schema!({
            "description": "How much one run may use. Crossing any of these ends in a cause of that name.",
            "type": "object",
            "properties": properties,
            "additionalProperties": false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_read_by_its_name_and_the_rest_keep_their_defaults() {
        for name in LimitName::ALL {
            let text = format!("{{\"{}\": 77}}", name.as_str());
            let mut expected = Limits::default();
            expected.set(*name, 77);
            assert_eq!(serde_json::from_str::<Limits>(&text).unwrap(), expected);
            let size = text.replace("77", "\"77 B\"");
            let read = serde_json::from_str::<Limits>(&size).ok();
            assert_eq!(read, (name.row().unit == Unit::Bytes).then_some(expected), "{size}");
        }
        assert_eq!(serde_json::from_str::<Limits>("{}").unwrap(), Limits::default());
    }

    #[test]
    fn what_is_no_limit_is_named_with_those_there_are() {
        let fault = |text: &str| serde_json::from_str::<Limits>(text).unwrap_err().to_string();
        let unknown = fault(r#"{"wal_ms": 3}"#);
        assert!(unknown.contains("unknown field `wal_ms`, expected one of `wall_ms`"), "{unknown}");
        assert!(LimitName::NAMES.iter().all(|name| unknown.contains(name)), "{unknown}");
        assert!(fault(r#"{"files": 1, "files": 2}"#).contains("duplicate field `files`"));
        assert!(fault("[1, 2]").contains("expected limits by name"));
    }
}
