//! Who is given up when nodes make a gateway hold too much.
//!
//! A node that was taken over can begin long answers in all of its runs and end none of them. When all runs together hold
//! more than the gateway may, the node that makes it hold most is taken for broken, and its largest runs are given up until
//! the rest fits. Others lose nothing.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::shared::State;
use crate::nodes::Address;

impl State {
    /// Makes room for so many bytes more, if there is none, by giving up what the greediest node sent.
    pub fn make_room(&mut self, bytes: usize) {
        if self.held.load(Ordering::Relaxed).saturating_add(bytes) <= self.held_most {
            return;
        }
        // Those that were given up let go of theirs in a moment, and do not count.
        let mut nodes: HashMap<Address, usize> = HashMap::new();
        for run in self.runs.values() {
            *nodes.entry(run.address).or_default() += run.held.bytes();
        }
        let mut sum: usize = nodes.values().sum();
        while sum.saturating_add(bytes) > self.held_most {
            let Some((&greedy, _)) = nodes.iter().max_by_key(|&(_, &held)| held) else { return };
            let of_it = self.runs.iter().filter(|(_, run)| run.address == greedy);
            let largest = of_it.max_by_key(|(_, run)| run.held.bytes());
            let Some((&token, run)) = largest.filter(|(_, run)| run.held.bytes() > 0) else {
                return;
            };
            let freed = run.held.bytes();
            run.held.give_up();
            self.runs.remove(&token);
            sum = sum.saturating_sub(freed);
            nodes.entry(greedy).and_modify(|held| *held = held.saturating_sub(freed));
        }
    }
}
