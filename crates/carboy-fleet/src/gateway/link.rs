//! What a gateway knows of its own link to the broker: whether it could have heard what it did not hear.
//!
//! A node that falls silent may be gone. When all fall silent at once, it is more likely the gateway that hears nothing: its link was
//! cut, or its broker was. Then silence says nothing of a node until the link was proven or made again. That nobody
//! listens at a node's subject is said by a broker, over a link that works, and is believed at once, except just
//! after the link was made: nodes may be making theirs again too.

use std::time::Duration;

use crate::nodes::SILENCE;

/// Nothing came from anybody for as long: perhaps nothing can. Each node is heard several times a second.
const QUIET: Duration = Duration::from_millis(500);

/// By then a client has noticed that its link is cut. One that is still connected has a broker that answers.
const NOTICED: Duration = Duration::from_secs(2);

/// All of several nodes were silent for as long: another broker may be nearer to them.
const DESERTED: Duration = Duration::from_millis(1500);

/// How often another broker is looked for because of that.
const MOVES: Duration = Duration::from_secs(10);

/// After a link was made again, nodes have as long to be heard.
pub(super) const SETTLE: Duration = Duration::from_secs(2);

/// The link of one gateway.
pub(super) struct Link {
    /// Silence counts from here on.
    since: Duration,
    /// When anything came over it.
    heard: Duration,
    /// Since when there is none.
    down: Option<Duration>,
    /// When it was made again.
    made: Option<Duration>,
    /// How often it was made, by the bus.
    connects: u64,
    moved: Option<Duration>,
}

impl Link {
    pub fn new(now: Duration, connects: u64) -> Link {
        Link { since: now, heard: now, down: None, made: None, connects, moved: None }
    }

    /// Something came over it.
    pub fn heard(&mut self, now: Duration) {
        self.heard = now;
    }

    /// Who stood still himself has messages to read before he calls others silent.
    pub fn stood_still(&mut self, now: Duration) {
        self.since = self.since.max(now);
        self.heard = now;
    }

    /// Looks at it. True if it was made again since the last time.
    pub fn look(&mut self, now: Duration, is_connected: bool, connects: u64) -> bool {
        if !is_connected {
            self.down.get_or_insert(now);
            return false;
        }
        // It may have been away for less than the time between two looks.
        let is_new = self.down.take().is_some() || connects != self.connects;
        self.connects = connects;
        if is_new {
            self.made = Some(now);
            self.since = now + SETTLE.saturating_sub(SILENCE);
            self.heard = now;
        }
        is_new
    }

    /// Since when there is none.
    pub fn down(&self) -> Option<Duration> {
        self.down
    }

    /// From when on silence counts.
    pub fn since(&self) -> Duration {
        self.since
    }

    /// Whether the silence of a node says something of that node.
    pub fn can_judge(&self, now: Duration) -> bool {
        let quiet = now.saturating_sub(self.heard);
        self.down.is_none() && (quiet < QUIET || quiet >= NOTICED)
    }

    /// Whether every node has had the time to be heard again.
    pub fn is_settled(&self, now: Duration) -> bool {
        self.down.is_none() && self.made.is_none_or(|at| now.saturating_sub(at) >= SETTLE)
    }

    /// Whether to look for another broker, because none of several nodes was heard since `heard`.
    pub fn is_deserted(&mut self, now: Duration, heard: Duration) -> bool {
        let is_so = self.is_settled(now)
            && now.saturating_sub(heard.max(self.since)) >= DESERTED
            && self.moved.is_none_or(|at| now.saturating_sub(at) >= MOVES);
        if is_so {
            self.moved = Some(now);
        }
        is_so
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(number: u64) -> Duration {
        Duration::from_millis(number)
    }

    #[test]
    fn silence_of_all_says_nothing_until_the_client_would_have_noticed() {
        let mut link = Link::new(ms(0), 1);
        link.heard(ms(1000));
        assert!(link.can_judge(ms(1400)));
        assert!(!link.can_judge(ms(1600)) && !link.can_judge(ms(2900)));
        assert!(link.can_judge(ms(3000)));
        link.look(ms(3000), false, 1);
        assert!(!link.can_judge(ms(9000)) && link.down() == Some(ms(3000)));
    }

    #[test]
    fn a_link_that_was_made_again_gives_nodes_time_also_if_nobody_saw_it_away() {
        let mut link = Link::new(ms(0), 1);
        assert!(link.is_settled(ms(0)) && !link.look(ms(20), true, 1));
        assert!(link.look(ms(40), true, 2) && !link.look(ms(60), true, 2));
        assert!(!link.is_settled(ms(2039)) && link.is_settled(ms(2040)));
        // A node that is not heard at all is silent by then, and no earlier.
        assert_eq!(link.since() + SILENCE, ms(2040));
        link.look(ms(3000), false, 2);
        assert!(link.look(ms(3100), true, 3) && !link.is_settled(ms(3200)));
    }

    #[test]
    fn another_broker_is_looked_for_now_and_then() {
        let mut link = Link::new(ms(0), 1);
        assert!(!link.is_deserted(ms(1400), ms(0)));
        assert!(link.is_deserted(ms(1500), ms(0)) && !link.is_deserted(ms(1600), ms(0)));
        assert!(link.is_deserted(ms(11_500), ms(0)));
        assert!(!link.is_deserted(ms(30_000), ms(29_000)));
    }
}
