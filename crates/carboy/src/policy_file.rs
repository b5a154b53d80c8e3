//! Policies in files.

use std::path::Path;

use carboy_protocol::Policy;

use crate::failure::Failure;

/// Reads a policy, in the language that the file's ending names.
pub fn read(file: &Path) -> Result<Policy, Failure> {
    let wrong = |why: String| {
        Failure::usage(
            format!("the policy file {} cannot be used: {why}", file.display()),
            "docs/policy.schema.json describes every field; `carboy explain` shows the defaults",
        )
    };
    let text = std::fs::read_to_string(file).map_err(|error| {
        Failure::usage(
            format!("cannot read the policy file {}: {error}", file.display()),
            "name a file that is there, or take a preset: --preset medium",
        )
    })?;
    match file.extension().and_then(|ending| ending.to_str()) {
        Some("toml") => toml::from_str(&text).map_err(|error| wrong(error.to_string())),
        Some("yaml" | "yml") => {
            serde_saphyr::from_str(&text).map_err(|error| wrong(error.to_string()))
        }
        Some("json") => serde_json::from_str(&text).map_err(|error| wrong(error.to_string())),
        _ => Err(wrong("its name must end in .toml, .yaml or .json".into())),
    }
}
