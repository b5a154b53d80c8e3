//! A node for a run, or a place to wait for one.

use std::time::Duration;

use carboy_engine::{FleetError, RunError};
use tokio::sync::oneshot;

use super::caller::Caller;
use super::shared::{Shared, State, one_more};
use crate::bus::Bus;
use crate::nodes::Address;
use crate::room::Full;

/// How long a run waits for a node, if its own deadline is not before that.
pub(super) const LONGEST: Duration = Duration::from_secs(10);

/// When whoever found no place may try again.
pub(super) const LATER: Duration = Duration::from_secs(1);

/// So many refusals of nodes, and a run waits for one that says that it has a place.
const TRIES: usize = 6;

impl State {
    /// Sends to nodes with a place whoever waits for one.
    pub fn serve_room(&mut self, now: Duration) {
        while !self.room.is_empty() {
            let Some(address) = self.nodes.choose(None, &[], now) else { return };
            let mut late = Vec::new();
            loop {
                let next = self.room.next(now, &mut late);
                let Some(waiter) = next else { return };
                // Who gave up meanwhile does not take it.
                if waiter.send(address).is_ok() {
                    self.nodes.sent(address);
                    break;
                }
            }
        }
    }
}

impl<B: Bus> Shared<B> {
    /// A node that may have a place for a run, if possible one that keeps its environment warm.
    pub(super) async fn place(
        &self,
        tenant: &str,
        environment: Option<u64>,
        tried: &mut Vec<Address>,
        until: Option<Duration>,
        caller: &mut Caller,
    ) -> Result<Address, RunError> {
        let waiting = {
            let now = self.config.clock.now();
            let mut state = self.state();
            if state.is_closed {
                return Err(RunError::Cancelled);
            }
            // Whoever came before has the first choice.
            if self.bus.is_connected()
                && state.room.is_empty()
                && tried.len() < TRIES
                && let Some(address) = state.nodes.choose(environment, tried, now)
            {
                state.nodes.sent(address);
                return Ok(address);
            }
            tried.clear();
            let last = until.unwrap_or(Duration::MAX).min(now + LONGEST);
            let (tell, told) = oneshot::channel();
            if let Err((full, _)) = state.room.enter(tenant, tell, last) {
                one_more(&self.count.refused);
                return Err(match full {
                    Full::All => FleetError::Full { retry_after: LATER },
                    Full::Tenant => FleetError::TenantFull { retry_after: LATER },
                }
                .into());
            }
            told
        };
        tokio::select! {
            told = waiting => match told {
                Ok(address) => Ok(address),
                Err(_) => Err(self.too_late()),
            },
            () = caller.cancelled() => Err(RunError::Cancelled),
        }
    }

    pub(super) fn too_late(&self) -> RunError {
        let state = self.state();
        if state.is_closed {
            return RunError::Cancelled;
        }
        one_more(&self.count.refused);
        let is_anybody = self.bus.is_connected() && state.nodes.alive(self.config.clock.now()) > 0;
        let retry_after = LATER;
        if is_anybody {
            FleetError::Full { retry_after }.into()
        } else {
            FleetError::Unreachable { retry_after }.into()
        }
    }
}
