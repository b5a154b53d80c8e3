//! News of runs, and the lack of it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;

use super::shared::State;
use super::under_way::{Incoming, UnderWay};
use super::wheel::SILENT;
use crate::message::{Event, WINDOW_BYTES, What};
use crate::nodes::SILENCE;

/// The longest time between two such questions.
const LONGEST: Duration = Duration::from_secs(2);

impl State {
    /// Looks at every run that may have been silent for too long.
    pub fn turn(&mut self, now: Duration, is_connected: bool) {
        while let Some(token) = self.wheel.due(now) {
            let Some(run) = self.runs.get_mut(&token) else { continue };
            let heard = self.nodes.last_heard(run.address).unwrap_or_default().max(self.connected);
            if is_connected && now.saturating_sub(heard) >= SILENCE {
                // A channel that is full has a reader who will see that it is closed.
                run.events.try_send(Incoming::Lost).ok();
                self.runs.remove(&token);
                continue;
            }
            if now >= run.ask_at.max(run.heard + SILENT) {
                // Who has not read what came is not missing anything.
                if run.events.capacity() == run.events.max_capacity() {
                    run.events.try_send(Incoming::Silent).ok();
                }
                // A long run is silent by nature.
                run.ask_at = now + run.patience;
                run.patience = (run.patience * 2).min(LONGEST);
            }
            // That its node is silent is noticed in time all the same.
            let at = run.ask_at.max(run.heard + SILENT).min(heard + SILENCE);
            self.wheel.add(at.max(now + SILENT / 10), token);
        }
    }

    /// Nobody listens where a run was sent or asked for.
    pub fn nobody(&mut self, token: u64, is_probe: bool) {
        if let Some(run) = self.runs.get(&token) {
            let told = if is_probe { Incoming::Lost } else { Incoming::Nobody };
            run.events.try_send(told).ok();
        }
    }

    /// A node said something of a run.
    pub fn told(&mut self, token: u64, event: Event, body: Bytes, now: Duration) {
        let Some(run) = self.runs.get_mut(&token).filter(|run| run.run == event.run) else {
            return;
        };
        let address = run.address;
        run.heard = now;
        let (hint, is_busy) = (event.hint, event.what == What::Busy {});
        if !run.take(event, body) {
            // It says more than it may. Its run is told by its channel being dropped.
            self.runs.remove(&token);
        }
        self.nodes.replied(address, hint, now);
        if is_busy {
            // It may lack something else than a place.
            self.nodes.refused(address);
        }
    }
}

impl UnderWay {
    /// Hands an event to whoever waits for it; false if there is no room, which a node in order takes care of.
    fn take(&mut self, event: Event, body: Bytes) -> bool {
        if let Some(number) = event.what.number() {
            if number < self.next {
                // It came before.
                return true;
            }
            if number > self.next {
                // Something was lost on the way. What was asked for already is on its way too.
                if !self.is_asked {
                    self.is_asked = true;
                    self.events.try_send(Incoming::Silent).ok();
                }
                return true;
            }
            self.next += 1;
            self.is_asked = false;
            self.patience = SILENT * 2;
            self.ask_at = self.heard + SILENT;
        }
        if matches!(event.what, What::Running { .. }) {
            // What was asked for follows. If it is lost again, it is asked for again.
            self.is_asked = false;
        }
        if self.held.load(Ordering::Relaxed) > WINDOW_BYTES {
            return false;
        }
        self.held.fetch_add(body.len(), Ordering::Relaxed);
        self.events.try_send(Incoming::Event(Box::new(event), body)).is_ok()
    }
}
