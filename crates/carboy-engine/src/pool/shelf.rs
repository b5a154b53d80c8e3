//! Shelves: jars of one shape stand on one shelf.
//!
//! A shelf grows when a run finds it empty and shrinks when nobody comes. Destroying a jar kills a
//! process and closes what leads to it, which takes longer than this lock may be held: whatever is
//! taken off a shelf is dropped after it was released, and `change` is the one place that sees to it.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use carboy_protocol::Policy;

/// A shelf that nobody came to for this long is halved.
const IDLE: Duration = Duration::from_secs(30);

struct Shelf<J> {
    /// One that jars of this shape can be made for.
    policy: Policy,
    jars: VecDeque<J>,
    target: usize,
    /// Never shrinks below this.
    least: usize,
    filling: usize,
    visited: Instant,
}

impl<J> Shelf<J> {
    /// An empty one for jars of this policy's shape.
    fn new(policy: &Policy) -> Shelf<J> {
        Shelf {
            policy: policy.clone(),
            jars: VecDeque::new(),
            target: 0,
            least: 0,
            filling: 0,
            visited: Instant::now(),
        }
    }

    fn missing(&self) -> usize {
        self.target.saturating_sub(self.jars.len() + self.filling)
    }
}

/// All shelves.
pub(super) struct Shelves<S, J> {
    /// The most jars that stand, over all of them.
    ceiling: usize,
    shelves: Mutex<HashMap<S, Shelf<J>>>,
}

impl<S: Copy + Eq + Hash, J> Shelves<S, J> {
    pub fn new(ceiling: usize) -> Shelves<S, J> {
        Shelves { ceiling, shelves: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<S, Shelf<J>>> {
        self.shelves.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes shelves under the lock, and drops what was taken off them after it.
    fn change<R>(&self, change: impl FnOnce(&mut HashMap<S, Shelf<J>>, &mut Vec<J>) -> R) -> R {
        let mut off = Vec::new();
        let result = change(&mut self.lock(), &mut off);
        drop(off);
        result
    }

    /// Takes a jar that is of use. Finding none makes the shelf larger.
    pub fn take(&self, shape: S, policy: &Policy, is_usable: impl Fn(&J) -> bool) -> Option<J> {
        self.change(|shelves, off| {
            let room = self.ceiling.saturating_sub(shelves.values().map(|s| s.target).sum());
            let shelf = shelves.entry(shape).or_insert_with(|| Shelf::new(policy));
            shelf.visited = Instant::now();
            while let Some(jar) = shelf.jars.pop_back() {
                if is_usable(&jar) {
                    return Some(jar);
                }
                off.push(jar);
            }
            shelf.target += shelf.target.max(2).min(room);
            None
        })
    }

    /// Keeps at least so many of a shape standing from now on; how many are missing.
    pub fn want(&self, shape: S, policy: &Policy, count: usize) -> usize {
        let mut shelves = self.lock();
        let shelf = shelves.entry(shape).or_insert_with(|| Shelf::new(policy));
        shelf.least = count;
        shelf.target = shelf.target.max(count);
        count.saturating_sub(shelf.jars.len())
    }

    /// Puts a jar up, unless there are enough by now.
    pub fn put(&self, shape: S, jar: J) {
        self.change(|shelves, off| match shelves.get_mut(&shape) {
            Some(shelf) if shelf.jars.len() < shelf.target => shelf.jars.push_back(jar),
            _ => off.push(jar),
        });
    }

    /// What every standing jar of a shape has to say.
    pub fn each<R>(&self, shape: S, say: impl FnMut(&J) -> R) -> Vec<R> {
        let shelves = self.lock();
        shelves.get(&shape).map_or(vec![], |shelf| shelf.jars.iter().map(say).collect())
    }

    /// How many jars stand, of every shape.
    pub fn count(&self) -> usize {
        self.lock().values().map(|shelf| shelf.jars.len()).sum()
    }

    /// Whether some shelf is nearly empty.
    pub fn is_low(&self) -> bool {
        self.lock().values().any(|shelf| (shelf.jars.len() + shelf.filling) * 4 < shelf.target)
    }

    /// Jars to be made now, with no more than `most` being made at once. Each counts as being made
    /// until it is [filled](Shelves::filled).
    pub fn start_filling(&self, most: usize) -> Vec<(S, Policy)> {
        let mut shelves = self.lock();
        let busy: usize = shelves.values().map(|shelf| shelf.filling).sum();
        let mut room = most.saturating_sub(busy);
        let mut to_make = vec![];
        for (shape, shelf) in shelves.iter_mut() {
            let count = shelf.missing().min(room);
            room -= count;
            shelf.filling += count;
            to_make.extend((0..count).map(|_| (*shape, shelf.policy.clone())));
        }
        to_make
    }

    /// A jar of this shape was made, or could not be. Then no more are wanted for later: a run that
    /// needs one will hear why.
    pub fn filled(&self, shape: S, jar: Option<J>) {
        self.change(|shelves, off| {
            let Some(shelf) = shelves.get_mut(&shape) else {
                off.extend(jar);
                return;
            };
            shelf.filling = shelf.filling.saturating_sub(1);
            match jar {
                None => shelf.target = shelf.jars.len(),
                Some(jar) if shelf.jars.len() < shelf.target => shelf.jars.push_back(jar),
                Some(jar) => off.push(jar),
            }
        });
    }

    /// Takes down what nobody comes for.
    pub fn shrink(&self) {
        let now = Instant::now();
        self.change(|shelves, off| {
            shelves.retain(|_, shelf| {
                if now.duration_since(shelf.visited) >= IDLE {
                    shelf.visited = now;
                    shelf.target = (shelf.target / 2).max(shelf.least);
                    off.extend(shelf.jars.drain(shelf.target.min(shelf.jars.len())..));
                }
                shelf.target > 0 || shelf.filling > 0
            });
        });
    }

    /// Takes down every jar that is not of use.
    pub fn discard(&self, is_usable: impl Fn(&J) -> bool) {
        self.change(|shelves, off| {
            for shelf in shelves.values_mut() {
                let (kept, rest) = shelf.jars.drain(..).partition(&is_usable);
                shelf.jars = kept;
                off.extend::<VecDeque<J>>(rest);
            }
        });
    }

    /// Takes down everything.
    pub fn clear(&self) {
        self.change(|shelves, off| {
            off.extend(shelves.drain().flat_map(|(_, shelf)| shelf.jars));
        });
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, OnceLock};

    use super::*;

    /// What stands on these shelves: it says with which number it was dropped, and whether the lock
    /// was free then.
    struct Piece {
        number: usize,
        place: Arc<Place>,
    }

    #[derive(Default)]
    struct Place {
        shelves: OnceLock<Shelves<u8, Piece>>,
        dropped: Mutex<Vec<(usize, bool)>>,
    }

    impl Drop for Piece {
        fn drop(&mut self) {
            let shelves = self.place.shelves.get().unwrap();
            let is_free = shelves.shelves.try_lock().is_ok();
            self.place.dropped.lock().unwrap().push((self.number, is_free));
        }
    }

    impl Place {
        /// A shelf for shape 1 with so many pieces on it, numbered from 0.
        fn with(count: usize) -> Arc<Place> {
            let place = Arc::new(Place::default());
            let shelves = place.shelves.get_or_init(|| Shelves::new(32));
            assert_eq!(shelves.want(1, &Policy::default(), count), count);
            (0..count).for_each(|number| shelves.put(1, Piece { number, place: place.clone() }));
            place
        }

        fn shelves(&self) -> &Shelves<u8, Piece> {
            self.shelves.get().unwrap()
        }

        /// Asserts that these were dropped since the last time, and none of them under the lock.
        fn assert_dropped(&self, numbers: &[usize]) {
            let mut dropped = std::mem::take(&mut *self.dropped.lock().unwrap());
            dropped.sort_unstable();
            let expected: Vec<_> = numbers.iter().map(|number| (*number, true)).collect();
            assert_eq!(dropped, expected);
        }

        fn standing(&self) -> Vec<usize> {
            self.shelves().each(1, |piece| piece.number)
        }
    }

    #[test]
    fn nothing_is_destroyed_while_the_lock_is_held() {
        let place = Place::with(4);
        let shelves = place.shelves();
        let piece = |number| Piece { number, place: place.clone() };
        // One more than there is room for, and one for a shelf that is not there.
        shelves.put(1, piece(7));
        place.assert_dropped(&[7]);
        shelves.put(2, piece(8));
        shelves.filled(2, Some(piece(9)));
        shelves.filled(1, Some(piece(10)));
        place.assert_dropped(&[8, 9, 10]);
        // Those that are of no use are passed over.
        let taken = shelves.take(1, &Policy::default(), |piece| piece.number < 2).unwrap();
        place.assert_dropped(&[2, 3]);
        assert_eq!((taken.number, place.standing()), (1, vec![0]));
        shelves.put(1, taken);
        shelves.discard(|piece| piece.number == 1);
        place.assert_dropped(&[0]);
        shelves.clear();
        place.assert_dropped(&[1]);
        assert!(place.standing().is_empty());
    }

    #[test]
    fn a_shelf_that_nobody_comes_to_is_halved_down_to_what_was_asked_for() {
        let place = Place::with(8);
        let shelves = place.shelves();
        shelves.want(1, &Policy::default(), 3);
        let idle = |shelf: &mut Shelf<Piece>| shelf.visited -= IDLE;
        shelves.shrink();
        place.assert_dropped(&[]);
        shelves.lock().values_mut().for_each(idle);
        shelves.shrink();
        place.assert_dropped(&[4, 5, 6, 7]);
        shelves.lock().values_mut().for_each(idle);
        shelves.shrink();
        place.assert_dropped(&[3]);
        shelves.lock().values_mut().for_each(idle);
        shelves.shrink();
        assert_eq!(place.standing(), [0, 1, 2]);
        shelves.clear();
        place.assert_dropped(&[0, 1, 2]);
    }

    #[test]
    fn a_shelf_grows_when_it_is_found_empty_and_never_past_the_ceiling() {
        let shelves: Shelves<u8, ()> = Shelves::new(7);
        let policy = Policy::default();
        let target = |shape: u8| shelves.lock()[&shape].target;
        assert!(shelves.take(1, &policy, |()| true).is_none());
        assert_eq!(target(1), 2);
        assert!(shelves.take(1, &policy, |()| true).is_none());
        assert_eq!(target(1), 4);
        assert!(shelves.take(2, &policy, |()| true).is_none());
        assert_eq!(target(2), 2);
        assert!(shelves.take(1, &policy, |()| true).is_none());
        assert_eq!((target(1), target(2)), (5, 2));
        assert!(shelves.is_low());
        // A few at a time, and no more after one that could not be made.
        assert_eq!(shelves.start_filling(3).len(), 3);
        assert!(shelves.start_filling(3).is_empty());
        let (shape, _) = shelves
            .lock()
            .iter()
            .find(|(_, s)| s.filling > 0)
            .map(|(s, f)| (*s, f.filling))
            .unwrap();
        shelves.filled(shape, None);
        assert_eq!(target(shape), 0);
    }
}
