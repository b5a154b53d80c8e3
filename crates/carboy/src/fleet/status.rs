//! `carboy fleet status`: who is there and how each is, once.

use std::collections::BTreeMap;
use std::process::ExitCode;

use carboy_fleet::{Picture, SILENCE, SeenNode};

use super::arguments::Status;
use super::listen::Listener;
use crate::failure::{Failure, print, print_json};
use crate::guest_text::one_line;
use crate::paint::Paint;

/// A node that was heard within so many milliseconds is there now: it has said something twice meanwhile.
const NOW_MS: u64 = 600;

pub async fn status(arguments: Status) -> Result<ExitCode, Failure> {
    let mut listener = Listener::connect(&arguments.brokers).await?;
    // Whoever says nothing for as long is sent no runs.
    let picture = listener.listen(SILENCE).await;
    if arguments.json {
        print_json(&picture)?;
    } else {
        print(&table(&picture, Paint::stdout()))?;
    }
    Ok(if picture.nodes.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// How a node is, in a word.
pub fn state(node: &SeenNode) -> &'static str {
    match node {
        SeenNode { alive: false, .. } => "silent",
        SeenNode { draining: true, .. } => "draining",
        SeenNode { free: 0, .. } => "full",
        SeenNode { refusals_per_second: Some(rate), .. } if *rate > 0.0 => "refusing",
        _ => "ok",
    }
}

/// A rate, or a dash where it is not known.
pub fn rate(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".into(), |rate| format!("{rate:.0}"))
}

/// Memory that is spoken for, of all that there is.
pub fn memory(bytes: Option<(u64, u64)>) -> String {
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    bytes
        .map_or_else(|| "-".into(), |(used, most)| format!("{:.1}/{:.1} GiB", gib(used), gib(most)))
}

/// What is worth a look.
pub fn remarks(picture: &Picture) -> Vec<String> {
    let mut remarks = Vec::new();
    if picture.nodes.is_empty() {
        remarks.push("no node was heard: are workers connected to these brokers?".to_owned());
    }
    if picture.gateways.is_empty() {
        remarks.push("no gateway was heard".to_owned());
    }
    for (node, count) in twice(picture) {
        remarks.push(format!(
            "{count} processes say that they are {node}: end all but one, or give each a name and credentials of its own"
        ));
    }
    if picture.versions.len() > 1 {
        let versions: Vec<String> = picture.versions.iter().map(|text| one_line(text)).collect();
        remarks.push(format!("there are different versions: {}", versions.join(", ")));
    }
    if picture.slots > 0 && picture.free * 4 < picture.slots {
        remarks.push(format!("{} of {} places are free: add nodes", picture.free, picture.slots));
    }
    if picture.waiting > 0 {
        remarks.push(format!("{} runs wait for a place", picture.waiting));
    }
    if picture.unreadable > 0 {
        remarks.push(format!("{} heartbeats could not be read", picture.unreadable));
    }
    remarks
}

/// Names that several processes use now, and how many. One that was just started again is heard once more from before.
fn twice(picture: &Picture) -> Vec<(&str, usize)> {
    let mut counts = BTreeMap::new();
    for node in picture.nodes.iter().filter(|node| node.silent_ms < NOW_MS) {
        *counts.entry(node.node.as_str()).or_insert(0) += 1;
    }
    counts.into_iter().filter(|&(_, count)| count > 1).collect()
}

/// One line for the whole fleet.
pub fn summary(picture: &Picture) -> String {
    format!(
        "{} nodes, {} gateways, {} of {} places free, {} runs/s",
        picture.nodes.len(),
        picture.gateways.len(),
        picture.free,
        picture.slots,
        rate(picture.runs_per_second),
    )
}

fn table(picture: &Picture, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.bold(&summary(picture)));
    let head = "\nnode      state     free  slots  runs/s  refused/s  sessions  memory            version\n";
    text += &paint.dim(head);
    for node in &picture.nodes {
        let word = format!("{:<8}", state(node));
        let word = match word.trim_end() {
            "ok" => paint.green(&word),
            "silent" => paint.red(&word),
            _ => paint.yellow(&word),
        };
        text += &format!(
            "{:<8}  {word}  {:>4}  {:>5}  {:>6}  {:>9}  {:>8}  {:<16}  {}\n",
            node.node,
            node.free,
            node.slots,
            rate(node.runs_per_second),
            rate(node.refusals_per_second),
            node.sessions,
            memory(node.memory_bytes),
            one_line(&node.version),
        );
    }
    let head =
        "\ngateway        running  waiting  nodes  runs/s  refused/s  again  lost  version\n";
    text += &paint.dim(head);
    for gateway in &picture.gateways {
        text += &format!(
            "{:<13}  {:>7}  {:>7}  {:>5}  {:>6}  {:>9}  {:>5}  {:>4}  {}\n",
            one_line(&gateway.gateway),
            gateway.running,
            gateway.waiting,
            gateway.nodes,
            rate(gateway.runs_per_second),
            rate(gateway.refusals_per_second),
            gateway.again,
            gateway.lost,
            one_line(&gateway.version),
        );
    }
    for remark in remarks(picture) {
        text += &format!("\n{} {remark}", paint.yellow("note:"));
    }
    if text.ends_with('\n') { text } else { text + "\n" }
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A fleet of one node, which says what a terminal would obey.
    pub fn hostile() -> Picture {
        let node = SeenNode {
            node: "nodeaaaa".into(),
            incarnation: "aaaaaaaaaaaab".into(),
            silent_ms: 10,
            alive: true,
            draining: false,
            free: 1,
            slots: 8,
            sessions: 2,
            memory_bytes: Some((1 << 30, 4 << 30)),
            runs_per_second: Some(12.4),
            refusals_per_second: Some(0.0),
            ended: 5,
            refused: 0,
            version: "\x1b]52;c;eA==\x07\n\u{202e}1".into(),
            up_ms: 1,
        };
        Picture {
            versions: vec![node.version.clone(), "0.1.0".into()],
            nodes: vec![node],
            gateways: vec![],
            free: 1,
            slots: 8,
            runs_per_second: Some(12.4),
            waiting: 0,
            unreadable: 0,
        }
    }

    #[test]
    fn a_name_that_two_processes_use_is_remarked() {
        let mut picture = hostile();
        let mut other = picture.nodes[0].clone();
        other.incarnation = "aaaaaaaaaaaac".into();
        picture.nodes.push(SeenNode { silent_ms: 900, ..other.clone() });
        let is_remarked = |picture: &Picture| {
            remarks(picture)
                .iter()
                .any(|text| text.starts_with("2 processes say that they are nodeaaaa"))
        };
        assert!(!is_remarked(&picture), "it was started again");
        picture.nodes[1] = other;
        assert!(is_remarked(&picture));
    }

    #[test]
    fn what_a_node_says_does_not_command_a_terminal() {
        let text = table(&hostile(), Paint::none());
        assert!(text.contains("nodeaaaa  ok           1      8      12"), "{text}");
        assert!(text.contains("\\u{1b}]52;c;eA==\\u{7}\\u{a}\\u{202e}1"), "{text}");
        let plain = |char: char| char == '\n' || !char.is_control() && char != '\u{202e}';
        assert!(text.chars().all(plain), "{text:?}");
    }
}
