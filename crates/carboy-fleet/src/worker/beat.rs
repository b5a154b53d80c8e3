//! What a node does by the clock: it says how it is, ends what nobody waits for, and forgets.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use carboy_engine::Runner;

use super::kept::Kept;
use super::node::Node;
use crate::bus::{Bus, Message};
use crate::message::{GatewayBeat, NodeBeat, VERSION, read, written};

/// A gateway that was not heard of for as long is gone, and its runs are of use to nobody.
const GATEWAY_SILENCE: Duration = Duration::from_secs(3);

/// A node that did nothing for as long did not hear either.
const DEAF: Duration = Duration::from_secs(1);

/// How often runs are looked for that should have ended, and whose gateway has not said that nobody waits for them: what it says
/// can be lost.
const LOOK: Duration = Duration::from_secs(5);

impl<R: Runner, B: Bus> Node<R, B> {
    /// A gateway says that it is there.
    pub(super) async fn heard(self: Arc<Self>, message: Message) {
        if let Ok((beat, _)) = read::<GatewayBeat>(&message.payload) {
            let now = self.config.clock.now();
            // Only those with runs here count, so a flood of names takes no memory.
            if let Some(heard) = self.table().gateways.get_mut(&beat.gateway) {
                *heard = now;
            }
        }
    }

    pub(super) async fn tick(&self) {
        let now = self.config.clock.now();
        let orphans: Vec<Arc<Kept>> = {
            let mut table = self.table();
            table.gather.sweep(now);
            while table.over.front().is_some_and(|gone| gone.until <= now) {
                let Some(gone) = table.over.pop_front() else { break };
                table.full = table.full.saturating_sub(1);
                table.bytes -= gone.bytes;
                table.runs.remove(&gone.kept.id);
            }
            // Who stood still himself has heartbeats to read before he calls others silent.
            let stood_still = now.saturating_sub(table.ticked) >= DEAF;
            if !self.beats.is_connected() || stood_still {
                table.connected = now;
            }
            table.ticked = now;
            let since = table.connected;
            let silent =
                |heard: &Duration| now.saturating_sub(since.max(*heard)) >= GATEWAY_SILENCE;
            let gone: Vec<String> = table
                .gateways
                .iter()
                .filter(|(_, heard)| silent(heard))
                .map(|(name, _)| name.clone())
                .collect();
            table.gateways.retain(|_, heard| !silent(heard));
            let is_due = now.saturating_sub(table.looked) >= LOOK;
            if is_due {
                table.looked = now;
            }
            let runs = table.runs.values();
            let is_orphan = |kept: &&Arc<Kept>| {
                let state = kept.state();
                gone.contains(&state.gateway) || is_due && state.is_overdue(now)
            };
            if gone.is_empty() && !is_due {
                Vec::new()
            } else {
                runs.filter(is_orphan).cloned().collect()
            }
        };
        orphans.iter().for_each(|kept| self.cancel(kept));
        if let Some(sessions) = &self.config.sessions {
            sessions.sweep();
        }
        self.beat().await;
    }

    pub(super) async fn beat(&self) {
        let load = self.runner.load();
        let beat = NodeBeat {
            v: VERSION,
            address: self.config.address,
            hint: self.hint(),
            version: self.config.version.clone(),
            memory: load.map(|load| (load.memory_bytes, load.memory_budget_bytes)),
            sessions: self.config.sessions.as_ref().map_or(0, |held| held.count() as u64),
            ended: self.ended.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
            up_ms: u64::try_from(self.config.clock.now().as_millis()).unwrap_or(u64::MAX),
        };
        // A heartbeat that cannot be sent now is of no use later.
        if self.beats.is_connected() {
            let subject = self.config.address.heartbeat();
            self.beats.publish(subject, None, written(&beat, &[])).await.ok();
        }
    }
}
