//! Circles in a graph of files: groups in which each file reaches every other.

use std::collections::{BTreeMap, BTreeSet};

/// Which file uses which. A file that uses itself is no circle.
pub(crate) type Uses = BTreeMap<String, BTreeSet<String>>;

/// Every circle, its files in order of their names.
pub(crate) fn circles(uses: &Uses) -> BTreeSet<Vec<String>> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|file| (file.as_str(), reachable(uses, file))).collect();
    let mut found = BTreeSet::new();
    for (file, others) in &reach {
        let back = |other: &&str| reach.get(other).is_some_and(|from| from.contains(file));
        let mut circle: Vec<String> =
            others.iter().filter(|other| back(other)).map(ToString::to_string).collect();
        if circle.len() > 1 {
            circle.sort();
            found.insert(circle);
        }
    }
    found
}

/// What can be reached from a file, over at least one arrow.
fn reachable<'a>(uses: &'a Uses, from: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut todo = vec![from];
    while let Some(file) = todo.pop() {
        for used in uses.get(file).into_iter().flatten() {
            if seen.insert(used.as_str()) {
                todo.push(used);
            }
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arrows: &[(&str, &str)]) -> Vec<String> {
        let mut uses = Uses::new();
        for (from, to) in arrows {
            uses.entry((*from).into()).or_default().insert((*to).into());
        }
        circles(&uses).iter().map(|circle| circle.join(" ")).collect()
    }

    #[test]
    fn a_circle_is_found_once_and_what_hangs_on_it_is_not_part_of_it() {
        assert!(found(&[("a", "b"), ("b", "c"), ("a", "c")]).is_empty());
        assert_eq!(found(&[("a", "b"), ("b", "a")]), ["a b"]);
        assert_eq!(found(&[("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y")]), ["a b c"]);
        assert_eq!(found(&[("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")]), ["a b", "c d"]);
    }
}
