//! Rooms and circles: in the engine no arrow points up, and nowhere do files use each other in a
//! circle.
//!
//! The order of the engine's rooms is the table in ARCHITECTURE.md, read from there.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use crate::circles::{Uses, circles};
use crate::fault::Fault;
use crate::tree::Tree;
use crate::{python_imports, rust_imports};

/// The sources that have rooms, and where their order is written.
const ROOMS_OF: &str = "crates/carboy-engine/src/";
const MAP: &str = "ARCHITECTURE.md";
const HEADING: &str = "### The rooms of the engine";

/// The Python packages: what users import, and what jars run.
const PACKAGES: [&str; 2] = ["sdk/python/src/carboy/", "crates/carboy-zygote/python/carboy_jar/"];

/// Arrows of the engine that point up, and circles anywhere.
pub(crate) fn check(tree: &Tree) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    let mut found = BTreeSet::new();
    for folder in crates(tree) {
        let uses = rust_imports::uses(tree, &folder)?;
        if folder == ROOMS_OF {
            faults.extend(check_rooms(&rooms(&tree.text(MAP)?), &uses));
        }
        found.extend(circles(&uses));
    }
    for package in PACKAGES {
        found.extend(circles(&python_imports::uses(tree, package)?));
    }
    faults.extend(found.iter().map(|circle| circle_fault(circle)));
    Ok(faults)
}

/// The source folder of every crate.
fn crates(tree: &Tree) -> BTreeSet<String> {
    let roots = tree.ending(".rs").filter_map(|file| {
        let folder = file.strip_suffix("lib.rs").or_else(|| file.strip_suffix("main.rs"))?;
        folder.ends_with("/src/").then(|| folder.to_owned())
    });
    roots.collect()
}

/// The rooms from the top down: the first column of the table below the heading.
fn rooms(map: &str) -> Vec<String> {
    let section = map.lines().skip_while(|line| *line != HEADING).skip(1);
    let rows = section.take_while(|line| !line.starts_with('#'));
    rows.filter_map(|row| row.strip_prefix("| `"))
        .filter_map(|row| row.split('`').next())
        .map(|room| room.trim_end_matches(['/']).trim_end_matches(".rs").to_owned())
        .collect()
}

/// The room that a file of the engine is in: its folder, or itself. The root has none.
fn room_of(file: &str) -> Option<&str> {
    let inside = file.strip_prefix(ROOMS_OF)?;
    let room = inside.split('/').next()?.trim_end_matches(".rs");
    (room != "lib").then_some(room)
}

fn check_rooms(rooms: &[String], uses: &Uses) -> Vec<Fault> {
    let heights: BTreeMap<&str, usize> =
        rooms.iter().rev().enumerate().map(|(height, room)| (room.as_str(), height)).collect();
    let mut faults = Vec::new();
    for (from, used) in uses {
        let Some(room) = room_of(from) else { continue };
        let Some(height) = heights.get(room) else {
            faults.push(Fault::new(
                from,
                format!("the room `{room}` is not in the table of rooms"),
                format!("give it its place in the order, in {MAP}"),
            ));
            continue;
        };
        for to in used {
            let Some(other) = room_of(to) else {
                faults.push(Fault::new(
                    from,
                    "uses something of the crate's root",
                    "move it to the lowest room that needs it",
                ));
                continue;
            };
            if other != room && heights.get(other).is_some_and(|other| other > height) {
                faults.push(Fault::new(
                    from,
                    format!("uses {to}, and the room `{other}` is above `{room}`"),
                    format!("move what both need to a lower room; the order is in {MAP}"),
                ));
            }
        }
    }
    for room in rooms {
        if !uses.keys().any(|file| room_of(file) == Some(room)) {
            faults.push(Fault::new(
                MAP,
                format!("has the room `{room}`, which does not exist"),
                "take it out of the table of rooms",
            ));
        }
    }
    if rooms.is_empty() {
        faults.push(Fault::new(
            MAP,
            "has no table of rooms",
            format!("write it below `{HEADING}`, from the top down"),
        ));
    }
    faults
}

fn circle_fault(circle: &[String]) -> Fault {
    Fault::new(
        &circle[0],
        format!("is in a circle of files: {}", circle.join(", ")),
        "move what they need of each other to a file below them",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "# A\n### The rooms of the engine\n\nwords\n\n| room | what |\n|---|---|\n\
                         | `engine.rs` | top |\n| `pool/` | middle |\n| `error.rs` | bottom |\n\n## B\n| `c` | d |\n";

    fn faults(arrows: &[(&str, &str)]) -> Vec<String> {
        let file = |name: &str| format!("{ROOMS_OF}{name}.rs");
        let mut uses = Uses::new();
        for name in ["engine", "pool/mod", "error"] {
            uses.entry(file(name)).or_default();
        }
        for (from, to) in arrows {
            uses.entry(file(from)).or_default().insert(file(to));
        }
        let found = check_rooms(&rooms(TABLE), &uses);
        found.iter().map(|fault| fault.what().to_owned()).collect()
    }

    #[test]
    fn arrows_point_down() {
        assert_eq!(rooms(TABLE), ["engine", "pool", "error"]);
        assert!(
            faults(&[("engine", "pool/mod"), ("pool/mod", "error"), ("lib", "engine")]).is_empty()
        );
        assert!(faults(&[("pool/mod", "pool/shelf"), ("pool/shelf", "pool/mod")]).is_empty());
        let up = faults(&[("error", "pool/shelf")]);
        assert_eq!(up.len(), 1);
        assert!(up[0].ends_with("the room `pool` is above `error`"), "{up:?}");
        assert_eq!(faults(&[("pool/mod", "lib")]), ["uses something of the crate's root"]);
    }

    #[test]
    fn a_room_has_its_place_and_a_place_its_room() {
        assert_eq!(
            faults(&[("cellar/x", "error")]),
            ["the room `cellar` is not in the table of rooms"]
        );
        let gone = check_rooms(&["attic".into()], &Uses::new());
        assert_eq!(gone[0].what(), "has the room `attic`, which does not exist");
        assert_eq!(check_rooms(&[], &Uses::new())[0].what(), "has no table of rooms");
    }
}
