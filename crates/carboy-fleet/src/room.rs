//! Who waits when every node is full: bounded, tenants in turn, and nobody who could not be answered in time.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// How many may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoomBounds {
    /// Of all tenants together.
    pub all: usize,
    /// Of one tenant.
    pub each: usize,
}

/// There is no place to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// Too many wait.
    All,
    /// Too many of this tenant wait.
    Tenant,
}

#[derive(Debug)]
struct Waiting<T> {
    item: T,
    /// The last moment at which it is worth beginning.
    until: Duration,
}

/// A waiting room. Tenants are served in turn, each in the order of its own runs.
#[derive(Debug)]
pub struct Room<T> {
    bounds: RoomBounds,
    waiting: HashMap<String, VecDeque<Waiting<T>>>,
    /// Tenants of whom somebody waits, in the order in which their turn comes.
    turns: VecDeque<String>,
    count: usize,
}

impl<T> Room<T> {
    /// An empty room.
    pub fn new(bounds: RoomBounds) -> Room<T> {
        Room { bounds, waiting: HashMap::new(), turns: VecDeque::new(), count: 0 }
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Waits, or says why not and gives the item back. After `until` it is not worth beginning.
    pub fn enter(&mut self, tenant: &str, item: T, until: Duration) -> Result<(), (Full, T)> {
        if self.count >= self.bounds.all {
            return Err((Full::All, item));
        }
        if self.waiting.get(tenant).map_or(0, VecDeque::len) >= self.bounds.each {
            return Err((Full::Tenant, item));
        }
        let line = self.waiting.entry(tenant.to_owned()).or_default();
        if line.is_empty() {
            self.turns.push_back(tenant.to_owned());
        }
        line.push_back(Waiting { item, until });
        self.count += 1;
        Ok(())
    }

    /// Takes out everybody it is too late for, and those who are gone and waited for nothing.
    pub fn expire(&mut self, now: Duration, is_gone: impl Fn(&T) -> bool) -> Vec<T> {
        let (mut late, before) = (Vec::new(), self.count);
        for line in self.waiting.values_mut() {
            // Each may have a deadline of its own, so those in front are not the first.
            for waiting in std::mem::take(line) {
                if is_gone(&waiting.item) {
                    self.count -= 1;
                } else if waiting.until >= now {
                    line.push_back(waiting);
                } else {
                    self.count -= 1;
                    late.push(waiting.item);
                }
            }
        }
        if self.count < before {
            self.waiting.retain(|_, line| !line.is_empty());
            self.turns.retain(|tenant| self.waiting.contains_key(tenant));
        }
        late
    }

    /// The next one whose turn it is. Those that it is too late for are put into `late`.
    pub fn next(&mut self, now: Duration, late: &mut Vec<T>) -> Option<T> {
        while let Some(tenant) = self.turns.pop_front() {
            let Some(line) = self.waiting.get_mut(&tenant) else { continue };
            let mut found = None;
            while let Some(first) = line.pop_front() {
                self.count -= 1;
                if first.until >= now {
                    found = Some(first.item);
                    break;
                }
                late.push(first.item);
            }
            if line.is_empty() {
                self.waiting.remove(&tenant);
            } else {
                self.turns.push_back(tenant);
            }
            if found.is_some() {
                return found;
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LATER: Duration = Duration::from_secs(1);

    fn room(all: usize, each: usize) -> Room<u32> {
        Room::new(RoomBounds { all, each })
    }

    fn everybody(room: &mut Room<u32>, now: Duration) -> (Vec<u32>, Vec<u32>) {
        let mut late = Vec::new();
        let served = std::iter::from_fn(|| room.next(now, &mut late)).collect();
        (served, late)
    }

    #[test]
    fn a_tenant_with_many_waits_no_less_than_one_with_few() {
        let mut room = room(10, 10);
        for (tenant, item) in [("a", 1), ("a", 2), ("a", 3), ("b", 10), ("b", 11), ("c", 20)] {
            room.enter(tenant, item, LATER).expect("room");
        }
        let (served, late) = everybody(&mut room, Duration::ZERO);
        assert_eq!(served, [1, 10, 20, 2, 11, 3]);
        assert!(late.is_empty() && room.is_empty());
    }

    #[test]
    fn both_bounds_hold_and_a_refused_tenant_leaves_nothing() {
        let mut room = room(3, 2);
        room.enter("a", 1, LATER).expect("room");
        room.enter("a", 2, LATER).expect("room");
        assert_eq!(room.enter("a", 3, LATER), Err((Full::Tenant, 3)));
        room.enter("b", 4, LATER).expect("room");
        assert_eq!(room.enter("c", 5, LATER), Err((Full::All, 5)));
        assert_eq!(room.len(), 3);
        assert_eq!(everybody(&mut room, Duration::ZERO).0, [1, 4, 2]);
    }

    #[test]
    fn whoever_it_is_too_late_for_is_told_and_holds_nobody_up() {
        let mut room = room(10, 10);
        room.enter("a", 1, Duration::from_millis(5)).expect("room");
        room.enter("a", 2, LATER).expect("room");
        room.enter("b", 3, Duration::from_millis(5)).expect("room");
        let (served, late) = everybody(&mut room, Duration::from_millis(6));
        assert_eq!((served, late), (vec![2], vec![1, 3]));
        assert!(room.is_empty());
    }

    #[test]
    fn whoever_it_is_too_late_for_leaves_without_being_called() {
        let mut room = room(10, 10);
        room.enter("a", 1, LATER).expect("room");
        room.enter("a", 2, Duration::from_millis(5)).expect("room");
        room.enter("b", 3, Duration::from_millis(5)).expect("room");
        let mut late = room.expire(Duration::from_millis(6), |_| false);
        late.sort_unstable();
        assert_eq!((late, room.len()), (vec![2, 3], 1));
        assert_eq!(room.expire(Duration::from_millis(6), |_| false), Vec::<u32>::new());
        room.enter("b", 4, LATER).expect("room");
        assert_eq!(everybody(&mut room, Duration::ZERO).0, [1, 4]);
    }

    #[test]
    fn whoever_is_gone_takes_no_place() {
        let mut room = room(3, 2);
        for (tenant, item) in [("a", 1), ("a", 2), ("b", 3)] {
            room.enter(tenant, item, LATER).expect("room");
        }
        assert_eq!(room.expire(Duration::ZERO, |&item| item != 2), Vec::<u32>::new());
        assert_eq!(room.len(), 1);
        room.enter("a", 4, LATER).expect("room");
        room.enter("b", 5, LATER).expect("room");
        assert_eq!(everybody(&mut room, Duration::ZERO).0, [2, 5, 4]);
    }
}
