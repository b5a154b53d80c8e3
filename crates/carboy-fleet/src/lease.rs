//! A tenant's exact quota over all gateways: each gives out what it has leased, and no more.
//!
//! What gateways hold of a tenant's quota is one entry in a ledger, which is changed only by who knows its latest revision. So all
//! leases together are never more than the quota. A gateway leases in steps of an eighth, and gives back what it does not use.
//!
//! The leases of a gateway that is silent are free for others. Nodes end the runs of a silent gateway after three seconds, others
//! free its leases after ten, and a gateway that could not be heard for three gives out nothing until it has looked into the
//! ledger again: so nothing is given out twice. While the ledger is away, a gateway uses what it has.
//!
//! An entry that no gateway wrote says nothing of what is held. Whoever finds one begins it anew with what it holds itself; for
//! ten seconds nobody leases more, and as all who hold something look every three, all of that is written down by then.

mod local;
mod nats;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Clock;

pub use local::LocalLedger;
pub use nats::NatsLedger;

/// A gateway that was silent for as long holds nothing any more.
const SILENCE: Duration = Duration::from_secs(10);

/// A gateway that may not have been heard for as long holds nothing until it has looked.
const DOUBT: Duration = Duration::from_secs(3);

/// How long somebody waits for a lease. If the ledger was away, nobody waits for it for as long.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often who holds something looks whether the ledger still says so.
const LOOK: Duration = Duration::from_secs(3);

/// How many parts a quota is leased in.
const STEPS: u64 = 8;

/// How often an entry is tried to be changed that others change too.
const TRIES: usize = 16;

/// Gateways that are kept in mind.
const GATEWAYS: usize = 1024;

/// Runs and sessions: what a gateway holds, wants, or has under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amount {
    /// Runs at once.
    #[serde(default)]
    pub runs: u64,
    /// Sessions at once.
    #[serde(default)]
    pub sessions: u64,
}

impl Amount {
    fn each(self, other: Amount, with: impl Fn(u64, u64) -> u64) -> Amount {
        Amount { runs: with(self.runs, other.runs), sessions: with(self.sessions, other.sessions) }
    }

    /// Whether it is as much as another, of both.
    pub fn covers(self, other: Amount) -> bool {
        self.runs >= other.runs && self.sessions >= other.sessions
    }
}

/// What gateways hold of one tenant's quota.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leases {
    /// By the name of the gateway.
    #[serde(default)]
    pub held: BTreeMap<String, Amount>,
    /// The entry is begun anew, and not all who hold something may be in it: the revision that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anew: Option<u64>,
}

impl Leases {
    /// Has a gateway hold what it wants, in whole steps, as far as the others leave it. What those held that are gone is
    /// free.
    fn settle(
        &mut self,
        gateway: &str,
        wanted: Amount,
        quota: Amount,
        is_there: impl Fn(&str) -> bool,
    ) -> Amount {
        self.keep(gateway, Amount::default(), is_there);
        let others = self
            .held
            .values()
            .fold(Amount::default(), |sum, held| sum.each(*held, u64::saturating_add));
        let left = quota.each(others, u64::saturating_sub);
        let held = in_steps(wanted, quota).each(left, u64::min);
        if held != Amount::default() {
            self.held.insert(gateway.to_owned(), held);
        }
        held
    }

    /// Has a gateway hold just this, beside all others that are there.
    fn keep(&mut self, gateway: &str, held: Amount, is_there: impl Fn(&str) -> bool) {
        self.held.retain(|name, _| name != gateway && is_there(name));
        if held != Amount::default() {
            self.held.insert(gateway.to_owned(), held);
        }
    }
}

/// Whole steps of a quota that are at least so much.
fn in_steps(wanted: Amount, quota: Amount) -> Amount {
    wanted.each(quota, |wanted, quota| wanted.next_multiple_of((quota / STEPS).max(1)).min(quota))
}

/// Where leases are written down.
pub trait Ledger: Send + Sync + 'static {
    /// What is held of a tenant's quota, and the revision of that. None if no gateway wrote what is there.
    fn read(
        &self,
        tenant: &str,
    ) -> impl Future<Output = Result<(Option<Leases>, u64), Away>> + Send;

    /// Writes it, if nobody has since this revision. Whether it was written.
    fn write(
        &self,
        tenant: &str,
        leases: &Leases,
        revision: u64,
    ) -> impl Future<Output = Result<bool, Away>> + Send;
}

/// The ledger does not answer.
#[derive(Debug, thiserror::Error)]
#[error("the ledger of leases does not answer: {0}")]
pub struct Away(pub String);

/// What one gateway holds of the quotas of its tenants.
pub struct Lessee<L> {
    ledger: L,
    own: String,
    clock: Clock,
    tenants: BTreeMap<String, Tenant>,
    heard: Mutex<Heard>,
}

struct Tenant {
    quota: Amount,
    held: Mutex<Held>,
    /// Since when it is known that an entry is begun anew, and which one.
    anew: Mutex<Option<(u64, Duration)>>,
    /// Who changes the entry of this tenant. One after the other.
    turn: tokio::sync::Mutex<()>,
    /// When the ledger did not answer.
    away: Mutex<Option<Duration>>,
}

impl Tenant {
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn away(&self) -> MutexGuard<'_, Option<Duration>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether all who hold something had the time to say so in an entry that was begun anew.
    fn is_whole(&self, begun: u64, now: Duration) -> bool {
        let mut anew = self.anew.lock().unwrap_or_else(PoisonError::into_inner);
        match *anew {
            Some((known, since)) if known == begun => now.saturating_sub(since) >= SILENCE,
            _ => {
                *anew = Some((begun, now));
                false
            }
        }
    }
}

struct Held {
    /// What may be given out.
    given: Amount,
    /// What the ledger says, if that is known.
    written: Option<Amount>,
    /// When it was looked there.
    looked: Duration,
}

struct Heard {
    gateways: HashMap<String, Duration>,
    /// Since when others would have been heard.
    since: Duration,
    connected: Duration,
    ticked: Duration,
}

impl<L: Ledger> Lessee<L> {
    /// A gateway that holds nothing yet, of tenants with these quotas.
    pub fn new(
        ledger: L,
        own: String,
        clock: Clock,
        quotas: impl IntoIterator<Item = (String, Amount)>,
    ) -> Lessee<L> {
        let now = clock.now();
        let tenant = |quota| {
            let (given, written) = (Amount::default(), Some(Amount::default()));
            let held = Mutex::new(Held { given, written, looked: now });
            let (anew, away) = (Mutex::default(), Mutex::default());
            Tenant { quota, held, anew, turn: tokio::sync::Mutex::default(), away }
        };
        let heard = Heard { gateways: HashMap::new(), since: now, connected: now, ticked: now };
        Lessee {
            ledger,
            own,
            clock,
            tenants: quotas.into_iter().map(|(name, quota)| (name, tenant(quota))).collect(),
            heard: Mutex::new(heard),
        }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another gateway is there.
    pub fn hear(&self, gateway: &str) {
        let now = self.clock.now();
        let mut heard = self.heard();
        if heard.gateways.len() >= GATEWAYS && !heard.gateways.contains_key(gateway) {
            heard.gateways.retain(|_, at| now.saturating_sub(*at) < SILENCE);
        }
        if heard.gateways.len() < GATEWAYS {
            heard.gateways.insert(gateway.to_owned(), now);
        }
    }

    /// Notes whether this gateway can be heard. To be called several times a second; who could not be heard for too long holds
    /// nothing.
    pub fn tick(&self, is_connected: bool) {
        let now = self.clock.now();
        let mut heard = self.heard();
        let stood_still = now.saturating_sub(heard.ticked) >= DOUBT;
        let was_cut_off = now.saturating_sub(heard.connected) >= DOUBT;
        heard.ticked = now;
        if is_connected {
            heard.connected = now;
        }
        if !stood_still && !was_cut_off {
            return;
        }
        heard.since = now;
        drop(heard);
        for tenant in self.tenants.values() {
            *tenant.held() = Held { given: Amount::default(), written: None, looked: now };
        }
    }

    /// What it holds of a tenant's quota. Who stood still may not know yet that others have it.
    pub fn held(&self, tenant: &str) -> Amount {
        let now = self.clock.now();
        let is_in_doubt = {
            let heard = self.heard();
            now.saturating_sub(heard.ticked.min(heard.connected)) >= DOUBT
        };
        let held = self.tenants.get(tenant).filter(|_| !is_in_doubt);
        held.map(|tenant| tenant.held().given).unwrap_or_default()
    }

    /// Leases as much as is in use, or as there is, and gives back the rest. What it holds then. If the ledger is away, that is
    /// what it held before.
    pub async fn settle(&self, tenant: &str, in_use: impl Fn() -> Amount) -> Amount {
        let Some(of) = self.tenants.get(tenant) else { return Amount::default() };
        let _turn = of.turn.lock().await;
        let used = in_steps(in_use(), of.quota);
        {
            let mut held = of.held();
            let is_fresh = self.clock.now().saturating_sub(held.looked) < LOOK;
            let has_nothing = used == Amount::default();
            if used == held.given && held.written == Some(used) && (is_fresh || has_nothing) {
                return used;
            }
            // From here on no more is given out than that. What was given out a moment ago is in use.
            held.given = used.each(held.given, u64::min);
        }
        self.change(tenant, of, in_use().each(used, u64::max)).await
    }

    /// Leases more if what it holds is less than is wanted. It gives nothing back, and waits for nobody for long.
    pub async fn more(&self, tenant: &str, wanted: Amount) -> Amount {
        let Some(of) = self.tenants.get(tenant) else { return Amount::default() };
        let is_away = of.away().is_some_and(|at| self.clock.now().saturating_sub(at) < PATIENCE);
        if is_away {
            return self.held(tenant);
        }
        let lease = async {
            let _turn = of.turn.lock().await;
            let held = self.held(tenant);
            if !held.covers(wanted) {
                self.change(tenant, of, wanted.each(held, u64::max)).await;
            }
        };
        // What was asked of the ledger may happen all the same; it is looked up before anything else is written.
        tokio::time::timeout(PATIENCE, lease).await.ok();
        self.held(tenant)
    }

    /// Writes that it holds what is wanted, and gives that out once it is written.
    async fn change(&self, tenant: &str, of: &Tenant, wanted: Amount) -> Amount {
        for _ in 0..TRIES {
            let since = self.heard().since;
            of.held().written = None;
            let Ok((written, revision)) = self.ledger.read(tenant).await else {
                *of.away() = Some(self.clock.now());
                break;
            };
            *of.away() = None;
            let now = self.clock.now();
            let begun = || Leases { anew: Some(revision), ..Leases::default() };
            let mut leases = written.clone().unwrap_or_else(begun);
            leases.anew = leases.anew.filter(|&begun| !of.is_whole(begun, now));
            let held = if leases.anew.is_some() {
                let held = of.held().given;
                leases.keep(&self.own, held, |name| self.is_there(name));
                held
            } else {
                leases.settle(&self.own, wanted, of.quota, |name| self.is_there(name))
            };
            let is_written = if Some(&leases) == written.as_ref() {
                true
            } else {
                match self.ledger.write(tenant, &leases, revision).await {
                    Ok(is_written) => is_written,
                    // It may have been written. What is held is at least this.
                    Err(_away) => break,
                }
            };
            if is_written {
                // Not if it was in doubt meanwhile.
                let heard = self.heard();
                if heard.since == since {
                    *of.held() = Held { given: held, written: Some(held), looked: now };
                }
                drop(heard);
                break;
            }
        }
        of.held().given
    }

    /// Whether another gateway may still give out what it holds.
    fn is_there(&self, gateway: &str) -> bool {
        let now = self.clock.now();
        let heard = self.heard();
        let at = heard.gateways.get(gateway).copied().unwrap_or_default().max(heard.since);
        now.saturating_sub(at) < SILENCE
    }
}

#[cfg(test)]
mod tests;
