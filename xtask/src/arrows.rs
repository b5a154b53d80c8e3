//! Which crate may use which: the table of crates and arrows, checked against `cargo metadata`.
//!
//! A crate is a trust boundary, so a new arrow is a decision and not a convenience. Dependencies
//! that only tests use are free.

use crate::fault::Fault;
use crate::workspace::{Package, Workspace};

/// What a crate may use of this workspace.
enum Arrows {
    Only(&'static [&'static str]),
    Any,
}

/// One row a crate, from the bottom up.
const ARROWS: [(&str, Arrows); 13] = [
    ("carboy-protocol", Arrows::Only(&[])),
    ("carboy-sys", Arrows::Only(&[])),
    ("carboy-jail", Arrows::Only(&["carboy-protocol", "carboy-sys"])),
    ("carboy-guard", Arrows::Only(&["carboy-protocol"])),
    ("carboy-zygote", Arrows::Only(&["carboy-protocol", "carboy-sys", "carboy-jail"])),
    ("carboy-wasm", Arrows::Only(&["carboy-protocol", "carboy-sys", "carboy-jail"])),
    (
        "carboy-engine",
        Arrows::Only(&["carboy-protocol", "carboy-sys", "carboy-jail", "carboy-guard"]),
    ),
    ("carboy-drill", Arrows::Only(&["carboy-protocol", "carboy-engine"])),
    ("carboy-store", Arrows::Only(&["carboy-protocol", "carboy-engine"])),
    ("carboy-server", Arrows::Only(&["carboy-protocol", "carboy-engine", "carboy-store"])),
    ("carboy-fleet", Arrows::Only(&["carboy-protocol", "carboy-engine", "carboy-store"])),
    (
        "carboy",
        Arrows::Only(&[
            "carboy-protocol",
            "carboy-jail",
            "carboy-guard",
            "carboy-zygote",
            "carboy-wasm",
            "carboy-engine",
            "carboy-drill",
            "carboy-store",
            "carboy-server",
            "carboy-fleet",
        ]),
    ),
    ("xtask", Arrows::Any),
];

/// Crates from outside that have one place, and the crates that are that place.
const PLACES: [(&str, &[&str]); 5] = [
    (
        "tokio",
        &[
            "carboy-engine",
            "carboy-drill",
            "carboy-store",
            "carboy-server",
            "carboy-fleet",
            "carboy",
        ],
    ),
    ("rusqlite", &["carboy-store"]),
    ("clap", &["carboy", "xtask"]),
    ("landlock", &["carboy-jail"]),
    ("wasmtime", &["carboy-wasm"]),
];

/// Every arrow that the table does not have.
pub(crate) fn check(workspace: &Workspace) -> Vec<Fault> {
    let place = |package: &Package| workspace.relative(&package.manifest_path);
    workspace.packages.iter().flat_map(|package| check_package(package, &place(package))).collect()
}

fn check_package(package: &Package, place: &str) -> Vec<Fault> {
    let name = package.name.as_str();
    let Some((_, arrows)) = ARROWS.iter().find(|(known, _)| *known == name) else {
        return vec![Fault::new(
            place,
            format!("{name} is not in the table of crates"),
            "a crate needs a reason: give it a row in xtask/src/arrows.rs and in ARCHITECTURE.md",
        )];
    };
    let mut faults = Vec::new();
    for used in package.dependencies.iter().filter(|used| used.is_built_in()) {
        if used.is_ours() {
            if let Arrows::Only(allowed) = arrows
                && !allowed.contains(&used.name.as_str())
            {
                let list = if allowed.is_empty() { "none".into() } else { allowed.join(", ") };
                faults.push(Fault::new(
                    place,
                    format!("{name} must not depend on {}", used.name),
                    format!("move the code, or talk by frames; allowed here: {list}"),
                ));
            }
        } else if let Some((_, homes)) = PLACES.iter().find(|(crate_, _)| *crate_ == used.name)
            && !homes.contains(&name)
        {
            faults.push(Fault::new(
                place,
                format!("{name} must not depend on {}", used.name),
                format!("code that needs it belongs in {}", homes.join(" or ")),
            ));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A workspace of one crate, as `cargo metadata` describes it.
    fn faults(name: &str, dependencies: &str) -> Vec<String> {
        let dependencies = dependencies.replace(r#""kind":"#, r#""req": "*", "kind":"#);
        let json = format!(
            r#"{{"workspace_root": "/w", "packages": [{{"name": "{name}", "version": "1.0.0", "targets": [],
                "manifest_path": "/w/Cargo.toml", "dependencies": [{dependencies}]}}]}}"#
        );
        let workspace: Workspace = serde_json::from_str(&json).expect("metadata of the test");
        check(&workspace).iter().map(|fault| fault.what().to_owned()).collect()
    }

    #[test]
    fn arrows_of_the_table_pass() {
        let used = r#"{"name": "carboy-sys", "kind": null, "path": "/w/carboy-sys"},
                      {"name": "landlock", "kind": null}"#;
        assert!(faults("carboy-jail", used).is_empty());
        assert!(faults("carboy-protocol", r#"{"name": "serde", "kind": null}"#).is_empty());
    }

    #[test]
    fn an_upward_arrow_is_a_fault_also_at_build_time() {
        for kind in ["null", r#""build""#] {
            let used = format!(r#"{{"name": "carboy-engine", "kind": {kind}, "path": "/w/e"}}"#);
            assert_eq!(
                faults("carboy-jail", &used),
                ["carboy-jail must not depend on carboy-engine"]
            );
        }
    }

    #[test]
    fn the_command_does_not_reach_the_unsafe_code() {
        let used = r#"{"name": "carboy-sys", "kind": null, "path": "/w/carboy-sys"}"#;
        assert_eq!(faults("carboy", used), ["carboy must not depend on carboy-sys"]);
    }

    #[test]
    fn tests_may_use_anything() {
        let used = r#"{"name": "carboy-engine", "kind": "dev", "path": "/w/e"},
                      {"name": "tokio", "kind": "dev"}"#;
        assert!(faults("carboy-jail", used).is_empty());
    }

    #[test]
    fn crates_from_outside_stay_in_their_place() {
        for (used, home, elsewhere) in [
            ("tokio", "carboy-fleet", "carboy-jail"),
            ("clap", "carboy", "carboy-engine"),
            ("landlock", "carboy-jail", "carboy-sys"),
            ("rusqlite", "carboy-store", "carboy-engine"),
            ("wasmtime", "carboy-wasm", "carboy"),
        ] {
            let json = format!(r#"{{"name": "{used}", "kind": null}}"#);
            assert!(faults(home, &json).is_empty());
            assert_eq!(
                faults(elsewhere, &json),
                [format!("{elsewhere} must not depend on {used}")]
            );
        }
    }

    #[test]
    fn a_crate_without_a_row_is_a_fault() {
        assert_eq!(faults("carboy-utils", ""), ["carboy-utils is not in the table of crates"]);
    }

    #[test]
    fn the_table_only_points_down() {
        for (row, (name, arrows)) in ARROWS.iter().enumerate() {
            let Arrows::Only(allowed) = arrows else { continue };
            for used in *allowed {
                assert!(
                    ARROWS[..row].iter().any(|(below, _)| below == used),
                    "{name} uses {used}, which does not stand above it in the table"
                );
            }
        }
    }
}
