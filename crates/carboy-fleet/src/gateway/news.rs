//! News of runs, and the lack of it.

use std::time::Duration;

use bytes::Bytes;

use super::place::LONGEST as WAIT;
use super::shared::State;
use super::under_way::{Incoming, UnderWay};
use super::wheel::{SILENT, Wheel};
use crate::message::{Event, WINDOW_BYTES, What};
use crate::nodes::SILENCE;

/// The longest time between two such questions.
const LONGEST: Duration = Duration::from_secs(2);

/// Nodes that were heard within this time should be heard.
const LATELY: Duration = Duration::from_secs(10);

impl State {
    /// The link was made again: every node is asked how its runs stand.
    pub fn ask_all(&mut self, now: Duration) {
        self.wheel = Wheel::default();
        for (&token, run) in &mut self.runs {
            (run.ask_at, run.patience) = (now, SILENT * 2);
            self.wheel.add(now, token);
        }
    }

    /// Whether several nodes were heard lately, and none of them now.
    pub fn is_deserted(&mut self, now: Duration) -> bool {
        let heard = self.nodes.several_heard(now.saturating_sub(LATELY));
        heard.is_some_and(|heard| self.link.is_deserted(now, heard))
    }

    /// Looks at every run that may have been silent for too long.
    pub fn turn(&mut self, now: Duration) {
        while let Some(token) = self.wheel.due(now) {
            let Some(run) = self.runs.get_mut(&token) else { continue };
            if let Some(down) = self.link.down() {
                // One that is known to run has its outcome when the link is back.
                if !run.is_known && now.saturating_sub(down.max(run.begun)) >= WAIT {
                    run.events.try_send(Incoming::Cut).ok();
                    self.runs.remove(&token);
                } else {
                    // It may be too late for it by now.
                    if run.events.capacity() == run.events.max_capacity() {
                        run.events.try_send(Incoming::Silent).ok();
                    }
                    self.wheel.add(now + SILENT, token);
                }
                continue;
            }
            let heard = self.nodes.last_heard(run.address).unwrap_or_default();
            let heard = heard.max(self.link.since());
            if self.link.can_judge(now) && now.saturating_sub(heard) >= SILENCE {
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
                // A long run is silent by nature. A node that makes its link again is so for a moment.
                let is_settled = self.link.is_settled(now);
                run.ask_at = now + if is_settled { run.patience } else { SILENT };
                if is_settled {
                    run.patience = (run.patience * 2).min(LONGEST);
                }
            }
            // That its node is silent is noticed in time all the same.
            let at = run.ask_at.max(run.heard + SILENT).min(heard + SILENCE);
            self.wheel.add(at.max(now + SILENT / 10), token);
        }
    }

    /// Nobody listens where a run was sent or asked for.
    pub fn nobody(&mut self, token: u64, is_probe: bool, now: Duration) {
        let Some(run) = self.runs.get(&token) else { return };
        let told = match is_probe {
            // Its node may be making its own link again. It is asked once more.
            true if !self.link.is_settled(now) => return,
            true => Incoming::Lost,
            false if run.is_session && !self.link.is_settled(now) => Incoming::Early,
            false => Incoming::Nobody,
        };
        run.events.try_send(told).ok();
    }

    /// A node said something of a run.
    pub fn told(&mut self, token: u64, event: Event, body: Bytes, now: Duration) {
        if self.runs.contains_key(&token) {
            self.make_room(body.len());
        }
        let is_misunderstood = matches!(event.what, What::Misunderstood { .. });
        // Who could not read what it was sent does not know whose it was.
        let is_it =
            |run: &&mut UnderWay| run.run == event.run || is_misunderstood && event.run.is_empty();
        let Some(run) = self.runs.get_mut(&token).filter(is_it) else {
            return;
        };
        let address = run.address;
        run.heard = now;
        run.is_known |= event.what.number().is_some() || matches!(event.what, What::Running { .. });
        let (hint, is_refused) = (event.hint, is_misunderstood || event.what == What::Busy {});
        if !run.take(event, body) {
            // It says more than it may. Its run is told by its channel being dropped.
            self.runs.remove(&token);
        }
        self.nodes.replied(address, hint, now);
        if is_refused {
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
        if self.held.waiting() > WINDOW_BYTES {
            return false;
        }
        self.held.came(body.len());
        self.events.try_send(Incoming::Event(Box::new(event), body)).is_ok()
    }
}
