//! A run on its way to a node, in one message or in pieces, and what is asked when nothing is heard of it.

use std::time::Duration;

use carboy_engine::FleetError;

use super::attempt::{Attempt, Ended, broken};
use crate::bus::{Bus, BusError};
use crate::message::{PROBE, PieceOf, RunAsk, StatusAsk, pieces, written};
use crate::name::Verb;

/// How often a run is sent to the same node again, after it said that it never came.
const RESENT: u32 = 3;

/// How long after it was sent that is believed: what came later is forgotten by then.
const BELIEVED: Duration = Duration::from_secs(50);

impl<B: Bus> Attempt<'_, B> {
    /// Sends the run itself, or leaves it for when there is a link: what was not sent has not run.
    pub(super) async fn send(&mut self) -> Option<Ended> {
        if !self.entry.shared.bus.is_connected() {
            return None;
        }
        self.is_sent = true;
        match self.send_pieces().await {
            Ok(()) => None,
            Err(BusError::TooLarge { bytes, most }) => {
                Some(Ended::Failed(FleetError::TooLarge { bytes, most }.into()))
            }
            Err(_) => {
                let retry_after = Duration::from_secs(1);
                Some(Ended::Failed(FleetError::Unreachable { retry_after }.into()))
            }
        }
    }

    async fn send_pieces(&self) -> Result<(), BusError> {
        let (verb, run) = (self.ask.verb(), &self.ask.run);
        let mut before = pieces(self.body.clone(), self.entry.shared.bus.max_payload());
        let last = before.pop().unwrap_or_default();
        for (number, piece) in (0..).zip(&before) {
            let head = PieceOf { run: run.clone(), number };
            self.publish(verb, None, written(&head, piece)).await?;
        }
        let message = match u32::try_from(before.len()) {
            Ok(0) | Err(_) => written(self.ask, &last),
            Ok(pieces) => written(&RunAsk { pieces, ..self.ask.clone() }, &last),
        };
        self.publish(verb, Some(self.reply.clone()), message).await
    }

    /// Nothing was heard for some time.
    pub(super) async fn silent(&mut self) -> Option<Ended> {
        let is_connected = self.entry.shared.bus.is_connected();
        if self.entry.shared.config.clock.now() > self.until {
            return Some(if is_connected { broken("it does not end") } else { Ended::Lost });
        }
        if !self.is_sent {
            return self.send().await;
        }
        if !is_connected {
            return None;
        }
        self.ask_status().await;
        None
    }

    /// Asks the node how the run stands, and for what is missing.
    async fn ask_status(&mut self) {
        let ask = StatusAsk {
            run: self.ask.run.clone(),
            gateway: self.ask.gateway.clone(),
            next: self.next,
        };
        self.told = self.next;
        self.bytes = 0;
        self.publish(Verb::Status, Some(format!("{}{PROBE}", self.reply)), written(&ask, &[]))
            .await
            .ok();
    }

    /// The node says that the run never came.
    pub(super) async fn unknown(&mut self) -> Option<Ended> {
        let age = self.entry.shared.config.clock.now().saturating_sub(self.sent_at);
        if self.next > 0 || self.resent >= RESENT || age > BELIEVED {
            return Some(Ended::Lost);
        }
        self.resent += 1;
        self.send().await
    }
}
