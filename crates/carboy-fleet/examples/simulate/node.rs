//! A simulated node: its processors are shared by what runs on it, as the kernel shares them.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use carboy_fleet::Hint;

use super::world::Micros;

/// Work is counted in parts of a microsecond, so that rounding does not add up.
const PARTS: u64 = 1 << 10;

/// Each run has had the same share since it came, so it is enough to count that share once for all: a run is over when
/// the share has grown by its work.
pub struct Node {
    cores: u64,
    places: usize,
    share: u64,
    counted: Micros,
    running: BinaryHeap<Reverse<(u64, usize)>>,
    /// Only in a node that refuses nothing.
    queue: VecDeque<(usize, Micros)>,
    version: u64,
}

impl Node {
    pub fn new(cores: usize, places: usize) -> Node {
        Node {
            cores: cores as u64,
            places,
            share: 0,
            counted: 0,
            running: BinaryHeap::new(),
            queue: VecDeque::new(),
            version: 0,
        }
    }

    pub fn hint(&self) -> Hint {
        let free = self.places.saturating_sub(self.running.len());
        Hint { free: free as u32, total: self.places as u32, draining: false }
    }

    /// Which word about the next end is the last one.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Takes a run, or not if it is full and does not queue.
    pub fn takes(&mut self, now: Micros, run: usize, work: Micros, queues: bool) -> bool {
        self.count(now);
        if self.running.len() < self.places {
            self.running.push(Reverse((self.share + work * PARTS, run)));
        } else if queues {
            self.queue.push_back((run, work));
        } else {
            return false;
        }
        true
    }

    /// When the next run is over, if nothing comes before.
    pub fn next_end(&mut self, now: Micros) -> Option<(Micros, u64)> {
        let &Reverse((end, _)) = self.running.peek()?;
        self.version += 1;
        // It may be over already: something else came in the same moment.
        let left = end.saturating_sub(self.share) * self.sharers();
        Some((now + left.div_ceil(self.cores * PARTS), self.version))
    }

    /// The runs that are over now.
    pub fn ended(&mut self, now: Micros) -> Vec<usize> {
        self.count(now);
        let mut over = Vec::new();
        while let Some(&Reverse((end, run))) = self.running.peek() {
            if end > self.share {
                break;
            }
            self.running.pop();
            over.push(run);
        }
        while self.running.len() < self.places
            && let Some((run, work)) = self.queue.pop_front()
        {
            self.running.push(Reverse((self.share + work * PARTS, run)));
        }
        over
    }

    /// Among how many cores' worth of runs the processors are shared: a run uses one at most.
    fn sharers(&self) -> u64 {
        self.cores.max(self.running.len() as u64)
    }

    fn count(&mut self, now: Micros) {
        self.share += (now - self.counted) * self.cores * PARTS / self.sharers();
        self.counted = now;
    }
}
