//! What is laid out, without a broker. `tests/credentials.rs` asks a real one.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use super::*;

fn plan(brokers: &[&str], nodes: &[&str]) -> FleetPlan {
    FleetPlan {
        brokers: brokers.iter().map(|place| place.parse().unwrap()).collect(),
        nodes: nodes.iter().map(|node| node.parse().unwrap()).collect(),
    }
}

/// A folder of this test's own, empty.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("carboy-init-{name}-{}", std::process::id()));
    std::fs::remove_dir_all(&folder).ok();
    folder
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn only_the_owner_reads_what_is_laid_out() {
    let folder = folder("modes");
    init(&folder, plan(&["10.0.0.1", "10.0.0.2", "10.0.0.3"], &["nodeaaaa"])).unwrap();
    let found = files(&folder);
    assert!(found.len() > 20, "{found:?}");
    for file in found {
        let mode = std::fs::metadata(&file).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, 0o600, "{}", file.display());
        assert!(!file.to_string_lossy().ends_with(".new"), "{}", file.display());
    }
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o700);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_node_that_is_added_leaves_what_was_there() {
    let folder = folder("add");
    init(&folder, plan(&["10.0.0.1"], &["nodeaaaa"])).unwrap();
    let before: Vec<_> =
        ["ca.key", "ca.pem", "gateway/nkey", "gateway/session.key", "workers/nodeaaaa/cert.pem"]
            .map(|name| std::fs::read(folder.join(name)).unwrap())
            .into();
    // Without brokers: they stay where they were.
    let text = init(&folder, plan(&[], &["nodebbbb"])).unwrap();
    let after: Vec<_> =
        ["ca.key", "ca.pem", "gateway/nkey", "gateway/session.key", "workers/nodeaaaa/cert.pem"]
            .map(|name| std::fs::read(folder.join(name)).unwrap())
            .into();
    assert_eq!(before, after);
    let settings = std::fs::read_to_string(folder.join("brokers/b1/nats.conf")).unwrap();
    for node in ["nodeaaaa", "nodebbbb"] {
        assert!(settings.contains(&format!("cb.n.{node}.>")), "{settings}");
        assert!(text.contains(&format!("/workers/{node}\n")), "{text}");
        let named = std::fs::read_to_string(folder.join(format!("workers/{node}/node"))).unwrap();
        assert_eq!(named.trim(), node);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_path_that_is_named_is_there() {
    for brokers in [&["10.0.0.1"][..], &["10.0.0.1", "10.0.0.2", "10.0.0.3"]] {
        let folder = folder(&format!("named-{}", brokers.len()));
        let text = init(&folder, plan(brokers, &["nodeaaaa"])).unwrap();
        let place = folder.display().to_string();
        let words = text.split_whitespace().map(|word| word.trim_end_matches(['.', ';', ':', ',']));
        let paths: Vec<&str> = words.clone().filter(|word| word.starts_with(&place)).collect();
        assert!(paths.len() > 5, "{text}");
        for path in paths {
            assert!(Path::new(path).exists(), "{path}");
        }
        let names: Vec<_> = files(&folder)
            .iter()
            .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        let is_file = |word: &&str| {
            !word.contains('/')
                && [".key", ".json", ".conf", ".toml"].iter().any(|end| word.ends_with(end))
        };
        for word in words.filter(is_file) {
            assert!(names.iter().any(|name| name == word), "{word} is named and not written");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

#[test]
fn what_cannot_be_a_fleet_is_refused() {
    let folder = folder("refused");
    let refused = |brokers: &[&str], nodes: &[&str]| {
        init(&folder, plan(brokers, nodes)).unwrap_err().to_string()
    };
    assert_eq!(refused(&["a", "b"], &[]), "a fleet has 1, 3 or 5 brokers, not 2");
    assert_eq!(refused(&["a", "a", "b"], &[]), "two brokers are at a:4222");
    for place in ["", "a b", "a:0", "a:99999", "a:64000", "[::1]:4222", "a\"b", "a/b"] {
        assert!(place.parse::<BrokerPlace>().is_err(), "{place}");
    }
    assert!(!folder.exists());
}

#[test]
fn a_file_that_is_no_key_is_named() {
    let folder = folder("broken");
    init(&folder, plan(&["a"], &["nodecccc"])).unwrap();
    std::fs::write(folder.join("workers/nodecccc/nkey"), "SUNONSENSE").unwrap();
    let error = init(&folder, plan(&[], &[])).unwrap_err();
    assert!(error.to_string().contains("workers/nodecccc/nkey cannot be used"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
