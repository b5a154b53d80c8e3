//! Relative links in the documents point at something that exists.
//!
//! This reads just enough Markdown: inline links and images, and link definitions, outside code.
//! Addresses and anchors are not followed.

use std::io;

use crate::fault::Fault;
use crate::tree::Tree;

/// Checks the documents at the root and below `docs/`.
pub(crate) fn check(tree: &Tree) -> io::Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for path in tree.ending(".md").filter(|path| !path.contains('/') || path.starts_with("docs/")) {
        for (line, target) in links(&tree.text(path)?) {
            let Some(file) = relative_file(&target) else { continue };
            if !resolve(path, file).is_some_and(|file| tree.exists(&file)) {
                faults.push(Fault::at(
                    path,
                    line,
                    format!("links to `{target}`, which does not exist"),
                    "correct the path (it counts from the folder of this document)",
                ));
            }
        }
    }
    Ok(faults)
}

/// Every link target with its line number.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line)) {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        if mark.is_some() && (fence.is_none() || fence == mark) {
            fence = if fence.is_none() { mark } else { None };
        } else if fence.is_none() {
            let line = without_code(line);
            found.extend(targets(&line).map(|target| (number, target.to_owned())));
        }
    }
    found
}

/// The line without its `code`. A backtick that nothing closes is an ordinary character.
fn without_code(line: &str) -> String {
    let mut prose = String::new();
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let ticks = rest[start..].bytes().take_while(|byte| *byte == b'`').count();
        let (mark, code) = rest[start..].split_at(ticks);
        prose.push_str(&rest[..start]);
        rest = match code.find(mark) {
            Some(end) => &code[end + ticks..],
            None => code,
        };
    }
    prose + rest
}

/// The targets of `](target)`, `](target "title")` and `[name]: target` in one line.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let definition = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("]: "))
        .map(|(_, rest)| rest)
        .filter(|_| !line.starts_with("[^"));
    let inline = line.split("](").skip(1).filter_map(|rest| match rest.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>').map(|(target, _)| target),
        None => rest.split_once(')').map(|(target, _)| target),
    });
    definition.into_iter().chain(inline).filter_map(|target| {
        let target = target.trim();
        if target.ends_with('"') { target.split_whitespace().next() } else { Some(target) }
    })
}

/// The file part of a target, or nothing where it is an address or an anchor in the same document.
fn relative_file(target: &str) -> Option<&str> {
    let file = target.split(['#', '?']).next().unwrap_or_default();
    (!file.is_empty() && !target.contains("://") && !target.starts_with("mailto:")).then_some(file)
}

/// The path from the root, or nothing where it leads out of the repository.
fn resolve(document: &str, file: &str) -> Option<String> {
    let (mut parts, file) = match file.strip_prefix('/') {
        Some(file) => (Vec::new(), file),
        None => {
            let mut parts: Vec<&str> = document.split('/').collect();
            parts.pop();
            (parts, file)
        }
    };
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        links(text).into_iter().map(|(_, target)| target).collect()
    }

    #[test]
    fn links_images_and_definitions_are_found() {
        assert_eq!(found("see [a](a.md) and ![b](img/b.png \"title\")"), ["a.md", "img/b.png"]);
        assert_eq!(found("[a](<with space.md>)"), ["with space.md"]);
        assert_eq!(found("[![badge](b.svg)](c.md)"), ["b.svg", "c.md"]);
        assert_eq!(found("[name]: d.md#part"), ["d.md#part"]);
    }

    #[test]
    fn code_and_footnotes_are_not_links() {
        assert!(found("`[a](a.md)` and ``x ` [b](b.md)``").is_empty());
        assert!(found("```text\n[a](a.md)\n~~~\n[b](b.md)\n```\n").is_empty());
        assert!(found("[^1]: words").is_empty());
        assert_eq!(found("[`code`](a.md), a lone ` [b](b.md)"), ["a.md", "b.md"]);
    }

    #[test]
    fn a_link_carries_its_line() {
        assert_eq!(links("one\n\n[a](a.md)\n"), [(3, "a.md".to_owned())]);
    }

    #[test]
    fn only_relative_files_are_followed() {
        assert_eq!(relative_file("a.md#part"), Some("a.md"));
        assert_eq!(relative_file("#part"), None);
        assert_eq!(relative_file("https://example.org/a.md"), None);
        assert_eq!(relative_file("mailto:a@example.org"), None);
    }

    #[test]
    fn paths_count_from_the_folder_of_the_document() {
        assert_eq!(resolve("README.md", "docs/a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(resolve("docs/x/b.md", "../a.md").as_deref(), Some("docs/a.md"));
        assert_eq!(resolve("docs/b.md", "/README.md").as_deref(), Some("README.md"));
        assert_eq!(resolve("docs/b.md", "../../etc/passwd"), None);
    }
}
