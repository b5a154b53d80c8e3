//! A fleet in simulated time: gateways that choose with the code of this crate, nodes that share their processors
//! among what they run, and runs that arrive at random.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use carboy_fleet::{Address, Hint, Nodes, Random, Room, RoomBounds};

use super::node::Node;

/// A microsecond is fine enough: a hop takes 150 of them.
pub type Micros = u64;

/// How a gateway places runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// As a gateway does: of two nodes the lighter one, which may refuse.
    TwoChoices,
    /// The same, and all runs are of one environment, which the same few nodes keep warm for every gateway.
    OneEnvironment,
    /// As a queue group of the broker does: any node, where it waits.
    QueueGroup,
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Setting {
    pub placement: Placement,
    pub nodes: usize,
    pub cores: usize,
    /// Work that arrives, as a part of what all processors can do.
    pub load: f64,
    /// For how long runs arrive.
    pub seconds: u64,
    pub seed: u64,
}

/// Gateways of one cell.
const GATEWAYS: usize = 8;
/// From a gateway through a broker to a node, or back.
const HOP: Micros = 150;
/// Between two heartbeats of a node.
const HEARTBEAT: Micros = 250_000;
/// Places of a node, for each of its cores.
const PLACES: usize = 4;
/// Refusals after which a run waits in its gateway.
const TRIES: usize = 6;
/// How long the answer of a run is of use.
const PATIENCE: Micros = 30_000_000;
/// Those who may wait in a gateway: for each place of the fleet that is its share, and at least.
const WAITING: usize = 2;
const WAITING_LEAST: usize = 8;
/// What a run costs beside its own work: 769 trivial runs a second on two processors, as measured.
const OVERHEAD: Micros = 2_600;
/// Runs below this are short: they are the ones that notice others.
const SHORT: Micros = 30_000;

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    pub sent: u64,
    pub done: u64,
    /// By a gateway: no place to wait, or too late.
    pub refused: u64,
    /// By nodes, which costs a round trip.
    pub refusals: u64,
    /// How long short runs took, in order.
    pub short: Vec<Micros>,
    /// Work that was done in time, as a part of what all processors could do, from when the fleet is full until no more
    /// runs arrive.
    pub goodput: f64,
}

impl Figures {
    /// The time that this part of the short runs did not exceed, in milliseconds.
    pub fn short_ms(&self, part: f64) -> f64 {
        let last = self.short.len().saturating_sub(1);
        let place = (part * last as f64).round() as usize;
        self.short.get(place).map_or(f64::NAN, |&took| took as f64 / 1e3)
    }
}

struct Run {
    arrived: Micros,
    work: Micros,
    gateway: usize,
    tenant: usize,
    tried: Vec<Address>,
}

enum Event {
    Arrives,
    /// At a node.
    Reaches {
        run: usize,
        node: usize,
    },
    /// Something of the node's may be over, if nothing has changed there since.
    Ends {
        node: usize,
        version: u64,
    },
    /// At its gateway.
    Answered {
        run: usize,
        node: usize,
        hint: Hint,
    },
    Refused {
        run: usize,
        node: usize,
    },
    Beats {
        node: usize,
    },
    Heard {
        node: usize,
        hint: Hint,
    },
    /// A gateway looks whether who waits can go.
    Looks {
        gateway: usize,
    },
}

struct Gateway {
    nodes: Nodes,
    room: Room<usize>,
    looking: bool,
}

/// The simulation.
pub struct World {
    setting: Setting,
    now: Micros,
    order: u64,
    events: BinaryHeap<Reverse<(Micros, u64, usize)>>,
    happenings: Vec<Option<Event>>,
    free: Vec<usize>,
    nodes: Vec<Node>,
    gateways: Vec<Gateway>,
    runs: Vec<Run>,
    random: Random,
    between: f64,
    worked: Micros,
    figures: Figures,
}

fn address(node: usize) -> Address {
    Address { node: node as u64, incarnation: 1 }
}

fn time(now: Micros) -> Duration {
    Duration::from_micros(now)
}

/// 90 of 100 take about 8 ms, most of the others 200 ms, and one in 200 takes 5 s: an assumption, not a measurement.
fn work(random: &mut Random) -> Micros {
    let kind = random.part();
    let mean = if kind < 0.9 {
        8_000.0
    } else if kind < 0.995 {
        200_000.0
    } else {
        5_000_000.0
    };
    // From a half to one and a half of it.
    OVERHEAD + (mean * (0.5 + random.part())) as Micros
}

/// The mean of [`work`].
fn mean_work() -> f64 {
    OVERHEAD as f64 + 0.9 * 8_000.0 + 0.095 * 200_000.0 + 0.005 * 5_000_000.0
}

impl World {
    /// A fleet at rest.
    pub fn new(setting: Setting) -> World {
        let cores = (setting.nodes * setting.cores) as f64;
        let waiting = (setting.nodes * setting.cores * PLACES * WAITING)
            .div_ceil(GATEWAYS)
            .max(WAITING_LEAST);
        let mut random = Random::new(setting.seed);
        let gateway = |_| Gateway {
            nodes: Nodes::new(random.number()),
            room: Room::new(RoomBounds { all: waiting, each: waiting }),
            looking: false,
        };
        let mut world = World {
            now: 0,
            order: 0,
            events: BinaryHeap::new(),
            happenings: Vec::new(),
            free: Vec::new(),
            nodes: (0..setting.nodes)
                .map(|_| Node::new(setting.cores, setting.cores * PLACES))
                .collect(),
            gateways: (0..GATEWAYS).map(gateway).collect(),
            runs: Vec::new(),
            random,
            between: mean_work() / (cores * setting.load),
            worked: 0,
            figures: Figures::default(),
            setting,
        };
        for node in 0..world.nodes.len() {
            let hint = world.nodes[node].hint();
            for gateway in &mut world.gateways {
                gateway.nodes.heard(address(node), hint, Duration::ZERO);
            }
            // Not all at once.
            let first = world.random.below(HEARTBEAT as usize) as Micros;
            world.at(first, Event::Beats { node });
        }
        world.at(0, Event::Arrives);
        world
    }

    /// Runs it to the end: no more runs arrive, and each has come to something.
    pub fn figures(mut self) -> Figures {
        while let Some(Reverse((when, _, place))) = self.events.pop() {
            self.now = when;
            self.free.push(place);
            if let Some(event) = self.happenings[place].take() {
                self.happens(event);
            }
        }
        let counted = (self.setting.seconds - self.setting.seconds / 3) as f64 * 1e6;
        let all = counted * (self.setting.nodes * self.setting.cores) as f64;
        self.figures.goodput = self.worked as f64 / all;
        self.figures.short.sort_unstable();
        self.figures
    }

    fn at(&mut self, when: Micros, event: Event) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.happenings.push(None);
            self.happenings.len() - 1
        });
        self.happenings[place] = Some(event);
        self.order += 1;
        self.events.push(Reverse((when, self.order, place)));
    }

    fn over(&self) -> bool {
        self.now >= self.setting.seconds * 1_000_000
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Arrives => self.arrives(),
            Event::Reaches { run, node } => self.reaches(run, node),
            Event::Ends { node, version } => self.ends(node, version),
            Event::Answered { run, node, hint } => self.answered(run, node, hint),
            Event::Refused { run, node } => {
                let at = self.runs[run].gateway;
                self.figures.refusals += 1;
                self.gateways[at].nodes.refused(address(node));
                self.runs[run].tried.push(address(node));
                self.place(run);
            }
            Event::Beats { node } => {
                let hint = self.nodes[node].hint();
                self.at(self.now + HOP, Event::Heard { node, hint });
                if !self.over() || self.figures.sent > self.figures.done + self.figures.refused {
                    self.at(self.now + HEARTBEAT, Event::Beats { node });
                }
            }
            Event::Heard { node, hint } => {
                for gateway in &mut self.gateways {
                    gateway.nodes.heard(address(node), hint, time(self.now));
                }
            }
            Event::Looks { gateway } => self.looks(gateway),
        }
    }

    fn arrives(&mut self) {
        if self.over() {
            return;
        }
        let run = Run {
            arrived: self.now,
            work: work(&mut self.random),
            gateway: self.random.below(GATEWAYS),
            tenant: self.random.below(16),
            tried: Vec::new(),
        };
        self.runs.push(run);
        self.figures.sent += 1;
        self.place(self.runs.len() - 1);
        let pause = -(1.0 - self.random.part()).ln() * self.between;
        self.at(self.now + pause as Micros, Event::Arrives);
    }

    /// Sends a run to a node, or lets it wait.
    fn place(&mut self, run: usize) {
        let Run { gateway, ref tried, .. } = self.runs[run];
        let chosen = match self.setting.placement {
            Placement::QueueGroup => Some(address(self.random.below(self.nodes.len()))),
            _ if tried.len() >= TRIES => None,
            placement => {
                let environment = (placement == Placement::OneEnvironment).then_some(99);
                self.gateways[gateway].nodes.choose(environment, tried, time(self.now))
            }
        };
        match chosen {
            Some(node) => {
                self.gateways[gateway].nodes.sent(node);
                self.at(self.now + HOP, Event::Reaches { run, node: node.node as usize });
            }
            None => self.wait(run),
        }
    }

    fn wait(&mut self, run: usize) {
        let Run { gateway, tenant, arrived, .. } = self.runs[run];
        self.runs[run].tried.clear();
        let until = time(arrived + PATIENCE);
        let room = &mut self.gateways[gateway].room;
        if room.enter(&tenant.to_string(), run, until).is_err() {
            self.figures.refused += 1;
        } else if !self.gateways[gateway].looking {
            self.look_later(gateway);
        }
    }

    fn look_later(&mut self, gateway: usize) {
        self.gateways[gateway].looking = true;
        let pause = 2_500 + self.random.below(5_000) as Micros;
        self.at(self.now + pause, Event::Looks { gateway });
    }

    /// Everybody who waits gets a try as long as a node may have a place.
    fn looks(&mut self, gateway: usize) {
        self.gateways[gateway].looking = false;
        let mut late = Vec::new();
        let mut tries = self.gateways[gateway].room.len();
        while tries > 0 {
            tries -= 1;
            let Gateway { nodes, room, .. } = &mut self.gateways[gateway];
            if nodes.choose(None, &[], time(self.now)).is_none() {
                break;
            }
            match room.next(time(self.now), &mut late) {
                Some(run) => self.place(run),
                None => break,
            }
        }
        self.figures.refused += late.len() as u64;
        if !self.gateways[gateway].room.is_empty() && !self.gateways[gateway].looking {
            self.look_later(gateway);
        }
    }

    fn reaches(&mut self, run: usize, node: usize) {
        let work = self.runs[run].work;
        let queues = self.setting.placement == Placement::QueueGroup;
        if self.nodes[node].takes(self.now, run, work, queues) {
            self.expect(node);
        } else {
            self.at(self.now + HOP, Event::Refused { run, node });
        }
    }

    /// When the next run of a node is over, by what it has now.
    fn expect(&mut self, node: usize) {
        if let Some((when, version)) = self.nodes[node].next_end(self.now) {
            self.at(when, Event::Ends { node, version });
        }
    }

    fn ends(&mut self, node: usize, version: u64) {
        if self.nodes[node].version() != version {
            return;
        }
        for run in self.nodes[node].ended(self.now) {
            let hint = self.nodes[node].hint();
            self.at(self.now + HOP, Event::Answered { run, node, hint });
        }
        self.expect(node);
    }

    fn answered(&mut self, run: usize, node: usize, hint: Hint) {
        let Run { arrived, work, gateway, .. } = self.runs[run];
        self.gateways[gateway].nodes.replied(address(node), hint, time(self.now));
        let took = self.now - arrived;
        self.figures.done += 1;
        let full = self.now >= self.setting.seconds / 3 * 1_000_000;
        if took <= PATIENCE && full && !self.over() {
            self.worked += work;
        }
        if work < SHORT {
            self.figures.short.push(took);
        }
    }
}
