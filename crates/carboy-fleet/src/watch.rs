//! What can be seen of a fleet by listening: heartbeats of nodes and gateways, and what follows from two of them.
//!
//! Whatever a node says is data of bounded size: one that was taken over may say anything, as often as it likes.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;

use crate::message::{GatewayBeat, NodeBeat, read};
use crate::name::{NodeName, Start};
use crate::nodes::{Address, SILENCE};

/// More nodes and gateways than a cell has.
const MOST: usize = 10_000;

/// Rates are taken over as long.
const WINDOW: Duration = Duration::from_secs(5);

/// Letters of a version that are kept.
const VERSION_LETTERS: usize = 32;

/// What is silent for longer is no longer shown.
pub const FORGOTTEN: Duration = Duration::from_secs(30);

/// Everybody who was heard.
#[derive(Debug, Default)]
pub struct Watch {
    nodes: HashMap<Address, Heard<NodeBeat>>,
    gateways: HashMap<u64, Heard<GatewayBeat>>,
    unreadable: u64,
}

/// The last that somebody said, and enough of before for rates.
#[derive(Debug)]
struct Heard<T> {
    beat: T,
    at: Duration,
    counts: VecDeque<(Duration, u64, u64)>,
}

/// A fleet as it was seen.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// By name.
    pub nodes: Vec<SeenNode>,
    /// By name.
    pub gateways: Vec<SeenGateway>,
    /// Places for runs that are free, on nodes that take any.
    pub free: u64,
    /// Places for runs, on all nodes.
    pub slots: u64,
    /// Runs that ended on nodes, each second; none if nobody was heard twice.
    pub runs_per_second: Option<f64>,
    /// Runs that wait at gateways.
    pub waiting: u64,
    /// Versions of carboy that were heard, in order.
    pub versions: Vec<String>,
    /// Heartbeats that could not be read.
    pub unreadable: u64,
}

/// One start of a node.
#[derive(Clone, Debug, Serialize)]
pub struct SeenNode {
    /// Its name.
    pub node: String,
    /// Which start of it.
    pub incarnation: String,
    /// How long it has been silent, in milliseconds.
    pub silent_ms: u64,
    /// Whether it was heard recently enough to be sent runs.
    pub alive: bool,
    /// Whether it takes nothing new.
    pub draining: bool,
    /// Runs that it would take now.
    pub free: u32,
    /// Runs that it takes at most.
    pub slots: u32,
    /// Sessions that are open.
    pub sessions: u64,
    /// What runs and sessions may come to use, and the most of that, in bytes.
    pub memory_bytes: Option<(u64, u64)>,
    /// Runs that ended, each second.
    pub runs_per_second: Option<f64>,
    /// Runs that it refused, each second.
    pub refusals_per_second: Option<f64>,
    /// Runs that ended since it was started.
    pub ended: u64,
    /// Runs that it refused since it was started.
    pub refused: u64,
    /// The version of carboy. It is what the node says.
    pub version: String,
    /// How long it has been up, in milliseconds.
    pub up_ms: u64,
}

/// One gateway.
#[derive(Clone, Debug, Serialize)]
pub struct SeenGateway {
    /// Its name.
    pub gateway: String,
    /// How long it has been silent, in milliseconds.
    pub silent_ms: u64,
    /// Runs that nodes have of it.
    pub running: u64,
    /// Runs that wait for a place.
    pub waiting: u64,
    /// Nodes that it would send a run to now.
    pub nodes: u64,
    /// Runs that ended, each second.
    pub runs_per_second: Option<f64>,
    /// Runs that it refused, each second.
    pub refusals_per_second: Option<f64>,
    /// Refusals of nodes that it got since it was started.
    pub busy: u64,
    /// Runs that were tried again since it was started.
    pub again: u64,
    /// Runs without an outcome since it was started, because their node was lost.
    pub lost: u64,
    /// The version of carboy. It is what the gateway says.
    pub version: String,
}

impl Watch {
    /// A heartbeat of a node came.
    pub fn heard_node(&mut self, subject: &str, payload: &Bytes, now: Duration) {
        let read = read::<NodeBeat>(payload).ok();
        let Some((beat, _)) = read.filter(|(beat, _)| beat.address.speaks_under(subject)) else {
            self.unreadable += 1;
            return;
        };
        let counts = (beat.ended, beat.refused);
        let beat = NodeBeat { version: bounded(&beat.version), ..beat };
        enter(&mut self.nodes, beat.address, beat, counts, now);
    }

    /// A heartbeat of a gateway came.
    pub fn heard_gateway(&mut self, payload: &Bytes, now: Duration) {
        let read = read::<GatewayBeat>(payload).ok();
        let named = read.and_then(|(beat, _)| {
            let Start(name) = beat.gateway.parse().ok()?;
            Some((name, beat))
        });
        let Some((name, beat)) = named else {
            self.unreadable += 1;
            return;
        };
        let counts = (beat.ended, beat.refused);
        let beat = GatewayBeat { version: bounded(&beat.version), ..beat };
        enter(&mut self.gateways, name, beat, counts, now);
    }

    /// What is known now. Who was silent for long is forgotten.
    pub fn picture(&mut self, now: Duration) -> Picture {
        self.nodes.retain(|_, heard| now.saturating_sub(heard.at) < FORGOTTEN);
        self.gateways.retain(|_, heard| now.saturating_sub(heard.at) < FORGOTTEN);
        let mut nodes: Vec<_> = self.nodes.values().map(|heard| heard.node(now)).collect();
        nodes.sort_by(|a, b| (&a.node, &a.incarnation).cmp(&(&b.node, &b.incarnation)));
        let mut gateways: Vec<_> = self.gateways.values().map(|heard| heard.gateway(now)).collect();
        gateways.sort_by(|a, b| a.gateway.cmp(&b.gateway));
        let mut versions: Vec<_> = nodes.iter().map(|node| node.version.clone()).collect();
        versions.extend(gateways.iter().map(|gateway| gateway.version.clone()));
        versions.sort();
        versions.dedup();
        let takes = |node: &&SeenNode| node.alive && !node.draining;
        let rates: Vec<f64> = nodes.iter().filter_map(|node| node.runs_per_second).collect();
        Picture {
            free: nodes.iter().filter(takes).map(|node| u64::from(node.free)).sum(),
            slots: nodes.iter().filter(takes).map(|node| u64::from(node.slots)).sum(),
            runs_per_second: (!rates.is_empty()).then(|| rates.iter().sum()),
            waiting: gateways.iter().map(|gateway| gateway.waiting).sum(),
            nodes,
            gateways,
            versions,
            unreadable: self.unreadable,
        }
    }
}

fn enter<K: Eq + Hash, T>(
    all: &mut HashMap<K, Heard<T>>,
    key: K,
    beat: T,
    (ended, refused): (u64, u64),
    now: Duration,
) {
    if all.len() >= MOST && !all.contains_key(&key) {
        return;
    }
    let mut counts = all.remove(&key).map_or_else(VecDeque::new, |heard| heard.counts);
    counts.push_back((now, ended, refused));
    // One older than the window stays, so that rates are over the whole of it.
    while counts.get(1).is_some_and(|(at, ..)| now.saturating_sub(*at) >= WINDOW)
        // A flood from one sender takes no more memory than heartbeats do.
        || counts.len() > 64
    {
        counts.pop_front();
    }
    all.insert(key, Heard { beat, at: now, counts });
}

impl<T> Heard<T> {
    /// How often things ended and were refused, each second.
    fn rates(&self) -> Option<(f64, f64)> {
        let (first, last) = (self.counts.front()?, self.counts.back()?);
        let seconds = last.0.saturating_sub(first.0).as_secs_f64();
        if seconds < 0.1 {
            return None;
        }
        let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / seconds;
        Some((rate(first.1, last.1), rate(first.2, last.2)))
    }

    fn silent(&self, now: Duration) -> u64 {
        u64::try_from(now.saturating_sub(self.at).as_millis()).unwrap_or(u64::MAX)
    }
}

impl Heard<NodeBeat> {
    fn node(&self, now: Duration) -> SeenNode {
        let beat = &self.beat;
        let rates = self.rates();
        SeenNode {
            node: NodeName(beat.address.node).to_string(),
            incarnation: Start(beat.address.incarnation).to_string(),
            silent_ms: self.silent(now),
            alive: now.saturating_sub(self.at) < SILENCE,
            draining: beat.hint.draining,
            free: beat.hint.free,
            slots: beat.hint.total,
            sessions: beat.sessions,
            memory_bytes: beat.memory,
            runs_per_second: rates.map(|rates| rates.0),
            refusals_per_second: rates.map(|rates| rates.1),
            ended: beat.ended,
            refused: beat.refused,
            version: beat.version.clone(),
            up_ms: beat.up_ms,
        }
    }
}

impl Heard<GatewayBeat> {
    fn gateway(&self, now: Duration) -> SeenGateway {
        let beat = &self.beat;
        let rates = self.rates();
        SeenGateway {
            gateway: beat.gateway.clone(),
            silent_ms: self.silent(now),
            running: beat.running,
            waiting: beat.waiting,
            nodes: beat.nodes,
            runs_per_second: rates.map(|rates| rates.0),
            refusals_per_second: rates.map(|rates| rates.1),
            busy: beat.busy,
            again: beat.again,
            lost: beat.lost,
            version: beat.version.clone(),
        }
    }
}

fn bounded(text: &str) -> String {
    text.chars().take(VERSION_LETTERS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{VERSION, written};
    use crate::nodes::Hint;

    fn node(number: u64, free: u32, ended: u64) -> Bytes {
        let beat = NodeBeat {
            v: VERSION,
            address: Address { node: number, incarnation: 1 },
            hint: Hint { free, total: 8, draining: number == 3 },
            version: "0.1.0".into(),
            memory: None,
            sessions: 0,
            ended,
            refused: ended / 2,
            up_ms: 0,
        };
        written(&beat, &[])
    }

    fn hear(watch: &mut Watch, beat: Bytes, now: Duration) {
        let (NodeBeat { address, .. }, _) = read(&beat).unwrap();
        watch.heard_node(&address.heartbeat(), &beat, now);
    }

    #[test]
    fn rates_come_from_two_heartbeats_and_silence_from_none() {
        let mut watch = Watch::default();
        let second = Duration::from_secs(1);
        hear(&mut watch, node(1, 8, 100), second);
        hear(&mut watch, node(2, 4, 0), second);
        hear(&mut watch, node(3, 8, 0), second);
        assert_eq!(watch.picture(second).runs_per_second, None);
        hear(&mut watch, node(1, 6, 300), 2 * second);
        let picture = watch.picture(3 * second);
        assert_eq!(picture.runs_per_second, Some(200.0));
        assert_eq!(picture.nodes[0].refusals_per_second, Some(100.0));
        assert!(picture.nodes[0].alive && !picture.nodes[1].alive);
        // The second is silent and the third is draining.
        assert_eq!((picture.free, picture.slots), (6, 8));
        assert!(watch.picture(40 * second).nodes.is_empty());
    }

    #[test]
    fn a_flood_takes_no_memory_and_nonsense_is_counted() {
        let mut watch = Watch::default();
        for millisecond in 0..10_000 {
            hear(&mut watch, node(1, 8, millisecond), Duration::from_millis(millisecond));
        }
        let kept = watch.nodes.values().map(|heard| heard.counts.len()).max();
        assert!(kept.is_some_and(|kept| kept <= 64), "{kept:?}");
        for number in 0..20_000 {
            hear(&mut watch, node(number, 8, 0), Duration::from_secs(10));
        }
        assert!(watch.nodes.len() <= MOST);
        watch.heard_node("cb.hb.aaaaaaab", &Bytes::from_static(b"no json\n"), Duration::ZERO);
        // Of another node.
        watch.heard_node("cb.hb.aaaaaaab", &node(2, 8, 0), Duration::ZERO);
        let beat = GatewayBeat { gateway: "\x1b[31mred".into(), ..GatewayBeat::default() };
        watch.heard_gateway(&written(&beat, &[]), Duration::ZERO);
        assert_eq!(watch.picture(Duration::from_secs(10)).unreadable, 3);
    }
}
