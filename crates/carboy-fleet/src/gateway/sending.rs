//! A run on its way to a node: in one message, or in pieces if it is larger than that.

use std::time::Duration;

use carboy_engine::FleetError;

use super::attempt::{Attempt, Ended};
use crate::bus::{Bus, BusError};
use crate::message::{PieceOf, RunAsk, pieces, written};

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
}
