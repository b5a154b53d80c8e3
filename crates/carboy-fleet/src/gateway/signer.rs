//! What a gateway answers nodes that ask for addresses of the store.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::shared::Shared;
use super::signing::Claim;
use crate::bus::{Bus, Message};
use crate::files::{Given, LIST, Permit, SignAnswer, SignAsk};
use crate::message::{GatewayBeat, VERSION, read, written};
use crate::nodes::Address;

impl<B: Bus> Shared<B> {
    /// Files of this run are wanted, if somebody keeps them.
    pub(super) fn claim(&self, run: &str) -> Option<Claim<'_>> {
        let signing = self.signing.as_ref()?;
        self.config.session_key.as_ref()?;
        Some(signing.claim(run, self.config.clock.now()))
    }

    /// That this node may bring the files of this run to the store: so many bytes, of a run that takes so long.
    pub(super) fn permit(
        &self,
        tenant: &str,
        run: &str,
        address: Address,
        (bytes, takes): (u64, Duration),
    ) -> Option<Permit> {
        let most = self.signing.as_ref()?.most(tenant).min(bytes);
        let gateway = self.config.name.to_string();
        let given = Given { tenant, run, gateway: &gateway, address };
        Some(given.permit(self.config.session_key.as_ref()?, most, takes))
    }

    /// A node asks for an address.
    ///
    /// A gateway may speak where a worker may not, so it answers at no subject but one of the node that the permit is for: who
    /// has no permit, or wants the answer elsewhere, gets none.
    pub(super) fn asked_to_sign(self: Arc<Self>, message: Message) {
        let (Some(signing), Some(key)) = (&self.signing, &self.config.session_key) else { return };
        let Some(reply) = message.reply else { return };
        let Ok((ask, list)) = read::<SignAsk>(&message.payload) else { return };
        let SignAsk { tenant, run, gateway, address, permit, .. } = &ask;
        let given = Given { tenant, run, gateway, address: *address };
        if !given.is_permit(key, permit) || !address.hears(&reply) {
            return;
        }
        let place = signing.place(address.node);
        tokio::spawn(async move {
            let answer = match &place {
                Some(_) => self.signed(&ask, &list).await,
                None => SignAnswer::Later {},
            };
            self.bus.publish(reply, None, written(&answer, &[])).await.ok();
            drop(place);
        });
    }

    /// A gateway is there.
    pub(super) fn heard_gateway(&self, message: Message) {
        if let (Some(signing), Ok((beat, _))) =
            (&self.signing, read::<GatewayBeat>(&message.payload))
        {
            signing.hear(beat.gateway, self.config.clock.now());
        }
    }

    async fn signed(&self, ask: &SignAsk, list: &Bytes) -> SignAnswer {
        let refused = |why: &str| SignAnswer::Refused { why: why.into() };
        let Some(signing) = &self.signing else { return SignAnswer::Later {} };
        if ask.v != VERSION || list.len() > LIST {
            return refused("the question is of another version, or too long");
        }
        let SignAsk { run, gateway, address, .. } = ask;
        if *gateway == self.config.name.to_string() {
            match signing.winner(run) {
                Some(None) => return SignAnswer::Later {},
                Some(Some(winner)) if winner != *address => {
                    return refused("the outcome of this run is another node's");
                }
                // One that is forgotten has its permit.
                Some(_) | None => {}
            }
        } else if signing.is_there(gateway, self.config.clock.now()) {
            // It knows whether the outcome is this node's, and who asks it is told.
            return SignAnswer::Later {};
        }
        signing.address(ask, list).await
    }
}

#[cfg(test)]
#[path = "signing_tests.rs"]
mod tests;
