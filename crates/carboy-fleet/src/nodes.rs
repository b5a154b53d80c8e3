//! Which node a run is sent to.
//!
//! A gateway knows of each node what it said last and what was sent to it since. Of two nodes that are drawn it
//! takes the one with less to do. It never looks for the least loaded of all: every gateway would find the same one
//! and send everything there until its next word. Nodes have the last word: one that is full refuses, and another is
//! tried.
//!
//! Nothing here waits or reads a clock. Time is what the caller says it is, so a simulation uses the same code.

use std::collections::HashMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::random::{Random, mixed};

/// A node that was not heard of for as long is not chosen: it may have died with what was sent to it.
pub const SILENCE: Duration = Duration::from_millis(1250);

/// How many nodes keep the same environment warm.
const WARM: usize = 4;

/// A warm node with more to do than this is not preferred: it has four places for each processor, and one that is busy
/// takes longer than another that has to warm up.
const WARM_LOAD: f64 = 0.25;

/// Nodes that are known at most.
const KNOWN: usize = 4096;

/// Runs that a node is believed to take at most.
const PLACES: u32 = 1 << 16;

/// Environments of which the warm nodes are remembered.
const ENVIRONMENTS: usize = 1024;

/// How often a node is drawn before all of them are looked at.
const DRAWS: usize = 8;

/// One life of a node's process. One that was started again is another address: what was sent to the former one
/// reaches nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// The machine.
    pub node: u64,
    /// The start of its process.
    pub incarnation: u64,
}

/// What a node says of itself: with every reply, and in every heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hint {
    /// Runs that it would take now.
    pub free: u32,
    /// Runs that it takes at most.
    pub total: u32,
    /// Whether it is about to leave, and takes nothing new.
    #[serde(default)]
    pub draining: bool,
}

/// What is known of a node.
#[derive(Clone, Debug)]
struct Node {
    address: Address,
    hint: Hint,
    heard: Duration,
    /// What was sent to it and is in no hint yet.
    sent: u32,
    /// It refused, and has said nothing since.
    full: bool,
    /// Nobody listened there, and it has said nothing since.
    gone: bool,
}

impl Hint {
    /// What is believed of it.
    fn bounded(self) -> Hint {
        let total = self.total.min(PLACES);
        Hint { total, free: self.free.min(total), ..self }
    }
}

impl Node {
    /// Whether it is heard of.
    fn is_there(&self, now: Duration) -> bool {
        !self.gone && now.saturating_sub(self.heard) < SILENCE
    }

    /// Whether it may have a place. Who has sent as much as it had room for waits for its next word: heartbeats come
    /// several times a second, and a refusal costs a round trip.
    fn usable(&self, now: Duration) -> bool {
        !self.full
            && self.load() < 1.0
            && !self.hint.draining
            && now.saturating_sub(self.heard) < SILENCE
    }

    /// How full it is by what is known: 1 or more has no place.
    fn load(&self) -> f64 {
        let taken = self.hint.total.saturating_sub(self.hint.free) + self.sent;
        f64::from(taken) / f64::from(self.hint.total.max(1))
    }
}

/// The nodes that one gateway knows.
#[derive(Clone, Debug)]
pub struct Nodes {
    known: Vec<Node>,
    places: HashMap<Address, usize>,
    /// The start of each machine that was heard.
    starts: HashMap<u64, u64>,
    /// By environment. Emptied when a node comes or goes.
    warm: HashMap<u64, Vec<usize>>,
    random: Random,
}

impl Nodes {
    /// No node is known. Gateways with other seeds draw other nodes.
    pub fn new(seed: u64) -> Nodes {
        Nodes {
            known: Vec::new(),
            places: HashMap::new(),
            starts: HashMap::new(),
            warm: HashMap::new(),
            random: Random::new(seed),
        }
    }

    /// Nodes that a run could be sent to now.
    pub fn usable(&self, now: Duration) -> usize {
        self.known.iter().filter(|node| node.usable(now)).count()
    }

    /// When a node said something last, if it is known.
    pub fn last_heard(&self, address: Address) -> Option<Duration> {
        self.places.get(&address).map(|&place| self.known[place].heard)
    }

    /// Nodes that are heard of, whether they have a place or not.
    pub fn alive(&self, now: Duration) -> usize {
        self.known.iter().filter(|node| node.is_there(now)).count()
    }

    /// When the last of several nodes was heard that were heard since `from`.
    pub fn several_heard(&self, from: Duration) -> Option<Duration> {
        let heard = self.known.iter().map(|node| node.heard).filter(|&heard| heard >= from);
        let (count, last) = heard.fold((0, Duration::ZERO), |(n, last), at| (n + 1, last.max(at)));
        (count > 1).then_some(last)
    }

    /// A heartbeat, which is also how a node becomes known. A machine has one start: another is heard when the former is
    /// gone or has been silent.
    pub fn heard(&mut self, address: Address, hint: Hint, now: Duration) {
        match self.places.get(&address) {
            Some(&place) => self.hear(place, hint, now),
            None => {
                if let Some(&incarnation) = self.starts.get(&address.node) {
                    let former = Address { incarnation, ..address };
                    if self.node(former).is_some_and(|node| node.is_there(now)) {
                        return;
                    }
                    self.forget(former);
                }
                if self.known.len() >= KNOWN {
                    return;
                }
                let hint = hint.bounded();
                self.starts.insert(address.node, address.incarnation);
                self.places.insert(address, self.known.len());
                self.known.push(Node {
                    address,
                    hint,
                    heard: now,
                    sent: 0,
                    full: false,
                    gone: false,
                });
                self.warm.clear();
            }
        }
    }

    /// A run was sent there.
    pub fn sent(&mut self, address: Address) {
        if let Some(node) = self.node(address) {
            node.sent += 1;
        }
    }

    /// It answered a run, and said how it is.
    pub fn replied(&mut self, address: Address, hint: Hint, now: Duration) {
        if let Some(&place) = self.places.get(&address) {
            self.hear(place, hint, now);
        }
    }

    /// It refused a run. It is not asked again until it has said something else.
    pub fn refused(&mut self, address: Address) {
        if let Some(node) = self.node(address) {
            node.full = true;
            node.sent = node.sent.saturating_sub(1);
        }
    }

    /// Nobody is there any more, as it seems. It is not chosen until it is heard again.
    pub fn gone(&mut self, address: Address) {
        if let Some(node) = self.node(address) {
            (node.full, node.gone) = (true, true);
            self.warm.clear();
        }
    }

    fn forget(&mut self, address: Address) {
        if let Some(place) = self.places.remove(&address) {
            self.starts.remove(&address.node);
            self.known.swap_remove(place);
            if let Some(moved) = self.known.get(place) {
                self.places.insert(moved.address, place);
            }
            self.warm.clear();
        }
    }

    /// Forgets nodes that have been silent for `after`, so that those who never come back take no memory.
    pub fn forget_silent(&mut self, after: Duration, now: Duration) {
        let silent: Vec<Address> = self
            .known
            .iter()
            .filter(|node| now.saturating_sub(node.heard) >= after)
            .map(|node| node.address)
            .collect();
        silent.into_iter().for_each(|address| self.forget(address));
    }

    /// The node for a run, or none that could take it. `tried` have refused this run. Of the nodes that keep `environment`
    /// warm one is taken if it has a processor free, otherwise any.
    pub fn choose(
        &mut self,
        environment: Option<u64>,
        tried: &[Address],
        now: Duration,
    ) -> Option<Address> {
        let warm = environment.and_then(|environment| self.warm_one(environment, tried, now));
        let place = match warm {
            Some(place) => place,
            None => {
                let first = self.draw(tried, None, now)?;
                match self.draw(tried, Some(first), now) {
                    Some(second) => self.lighter(first, second),
                    None => first,
                }
            }
        };
        Some(self.known[place].address)
    }

    fn node(&mut self, address: Address) -> Option<&mut Node> {
        self.places.get(&address).map(|&place| &mut self.known[place])
    }

    fn hear(&mut self, place: usize, hint: Hint, now: Duration) {
        let node = &mut self.known[place];
        if node.gone {
            self.warm.clear();
        }
        let (hint, address) = (hint.bounded(), node.address);
        *node = Node { hint, heard: now, sent: 0, full: false, gone: false, address };
    }

    fn lighter(&self, first: usize, second: usize) -> usize {
        if self.known[second].load() < self.known[first].load() { second } else { first }
    }

    fn may(&self, place: usize, tried: &[Address], now: Duration) -> bool {
        let node = &self.known[place];
        node.usable(now) && !tried.contains(&node.address)
    }

    /// A node at random, other than `not`.
    fn draw(&mut self, tried: &[Address], not: Option<usize>, now: Duration) -> Option<usize> {
        if self.known.is_empty() {
            return None;
        }
        for _ in 0..DRAWS {
            let place = self.random.below(self.known.len());
            if Some(place) != not && self.may(place, tried, now) {
                return Some(place);
            }
        }
        // Few are left: from a random place on, so that none of them gets more than the others.
        let start = self.random.below(self.known.len());
        (start..self.known.len())
            .chain(0..start)
            .find(|&place| Some(place) != not && self.may(place, tried, now))
    }

    /// The lighter of two nodes that keep an environment warm, if it has little to do.
    fn warm_one(&mut self, environment: u64, tried: &[Address], now: Duration) -> Option<usize> {
        if self.known.len() <= WARM {
            return None;
        }
        if self.warm.len() >= ENVIRONMENTS {
            self.warm.clear();
        }
        let known = &self.known;
        let warm = self.warm.entry(environment).or_insert_with(|| warmest(known, environment));
        let mut able: Vec<usize> = warm.clone();
        able.retain(|&place| self.known[place].load() < WARM_LOAD && self.may(place, tried, now));
        if able.is_empty() {
            return None;
        }
        let first = able.swap_remove(self.random.below(able.len()));
        if able.is_empty() {
            return Some(first);
        }
        let second = able[self.random.below(able.len())];
        Some(self.lighter(first, second))
    }
}

/// Rendezvous hashing: each node has a rank for each environment, and the highest keep it. A node that comes or goes
/// changes only the environments in which it is among them. The machine counts, not the start of its process: it comes back
/// to the same environments.
fn warmest(known: &[Node], environment: u64) -> Vec<usize> {
    let mut places: Vec<usize> = (0..known.len()).filter(|&place| !known[place].gone).collect();
    let rank = |&place: &usize| mixed(mixed(known[place].address.node) ^ environment);
    places.sort_unstable_by_key(|place| std::cmp::Reverse(rank(place)));
    places.truncate(WARM);
    places
}

#[cfg(test)]
mod tests;
