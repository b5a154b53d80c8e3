//! A tenant's quota over all gateways: each takes the part that its own demand is of all demand.
//!
//! Gateways tell each other once a second what each tenant wants of them. Nobody decides, and nobody is asked: what is
//! told may be a second old, so a quota that is shared in this way is kept within about a second of drift. A gateway
//! that is not heard of any more counts for nothing, and one that hears of no other has all of it.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::bus::{Bus, BusError, Subscription};
use crate::message::{read, written};

/// Where gateways tell each other. A tenant's is always the same one.
const SUBJECTS: u64 = 16;

/// All of them.
pub const DEMANDS: &str = "cb.q.*";

/// A gateway that said nothing for as long has no demand.
const SILENCE: Duration = Duration::from_secs(3);

/// What everybody wants at least: so a gateway that is asked for the first time has a part at once.
const LEAST: f64 = 0.5;

/// Tenants in one message.
const MOST: usize = 512;

/// Gateways that are kept in mind. Names are cheap to make up.
const GATEWAYS: usize = 1024;

/// What one gateway is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    /// Which one.
    pub gateway: String,
    /// For each tenant, the runs that are under way and that came in the last second, refused ones too.
    pub wants: HashMap<String, f64>,
}

/// What gateways are asked for, as one of them knows it.
#[derive(Debug)]
pub struct Demands {
    own: String,
    heard: HashMap<String, (Duration, HashMap<String, f64>)>,
}

impl Demands {
    /// Nobody else is known.
    pub fn new(own: String) -> Demands {
        Demands { own, heard: HashMap::new() }
    }

    /// Another gateway said what it is asked for. It says so in several messages.
    pub fn hear(&mut self, demand: Demand, now: Duration) {
        self.heard.retain(|_, (at, _)| now.saturating_sub(*at) < SILENCE);
        let is_known = self.heard.contains_key(&demand.gateway);
        if demand.gateway == self.own || !is_known && self.heard.len() >= GATEWAYS {
            return;
        }
        let (at, wants) = self.heard.entry(demand.gateway).or_default();
        *at = now;
        for (tenant, wanted) in demand.wants.into_iter().take(MOST) {
            if wanted.is_finite() && wanted > 0.0 {
                wants.insert(tenant, wanted);
            } else {
                wants.remove(&tenant);
            }
        }
    }

    /// The part of a tenant's quota that this gateway may give out, from 0 to 1.
    pub fn share(&self, tenant: &str, own: f64, now: Duration) -> f64 {
        let others = self.heard.values().filter(|(at, _)| now.saturating_sub(*at) < SILENCE);
        let others = others.map(|(_, wants)| wants.get(tenant).copied().unwrap_or(0.0) + LEAST);
        let own = own.max(0.0) + LEAST;
        own / (own + others.sum::<f64>())
    }
}

/// Tells the others what this gateway is asked for. Tenants of which nothing is wanted are told once, as 0.
pub async fn tell<B: Bus>(
    bus: &B,
    gateway: &str,
    wants: &HashMap<String, f64>,
) -> Result<(), BusError> {
    let mut messages: HashMap<u64, Vec<HashMap<String, f64>>> = HashMap::new();
    for (tenant, wanted) in wants {
        let parts = messages.entry(place(tenant)).or_default();
        if parts.last().is_none_or(|part| part.len() >= MOST) {
            parts.push(HashMap::new());
        }
        if let Some(part) = parts.last_mut() {
            part.insert(tenant.clone(), *wanted);
        }
    }
    for (number, parts) in messages {
        for wants in parts {
            let demand = Demand { gateway: gateway.to_owned(), wants };
            bus.publish(format!("cb.q.{number}"), None, written(&demand, &[])).await?;
        }
    }
    Ok(())
}

/// What another gateway told next.
pub async fn next(messages: &mut Subscription) -> Option<Demand> {
    loop {
        if let Some(demand) = demand(&messages.next().await?.payload) {
            return Some(demand);
        }
    }
}

fn demand(payload: &Bytes) -> Option<Demand> {
    read::<Demand>(payload).ok().map(|(demand, _)| demand)
}

/// FNV-1a: the same at every gateway, whichever version it has.
fn place(tenant: &str) -> u64 {
    let hash = tenant.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash % SUBJECTS
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LocalBus;

    const NOW: Duration = Duration::from_secs(10);

    fn wants(of: &[(&str, f64)]) -> HashMap<String, f64> {
        of.iter().map(|(tenant, wanted)| ((*tenant).to_owned(), *wanted)).collect()
    }

    fn demand_of(gateway: &str, of: &[(&str, f64)]) -> Demand {
        Demand { gateway: gateway.into(), wants: wants(of) }
    }

    #[test]
    fn parts_of_all_gateways_are_the_whole() {
        let names = ["a", "b", "c"];
        let demand = [30.0, 0.0, 90.0];
        let shares: Vec<f64> = (0..3)
            .map(|own| {
                let mut demands = Demands::new(names[own].into());
                for other in 0..3 {
                    demands.hear(demand_of(names[other], &[("acme", demand[other])]), NOW);
                }
                demands.share("acme", demand[own], NOW)
            })
            .collect();
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        assert!(shares[2] > 0.7 && shares[0] < 0.3 && shares[1] > 0.0, "{shares:?}");
    }

    #[test]
    fn who_is_alone_or_hears_nobody_has_all() {
        let mut demands = Demands::new("a".into());
        assert!((demands.share("acme", 0.0, NOW) - 1.0).abs() < 1e-9);
        demands.hear(demand_of("b", &[("acme", 50.0)]), NOW);
        assert!(demands.share("acme", 50.0, NOW) < 0.51);
        let later = NOW + SILENCE;
        assert!((demands.share("acme", 50.0, later) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_another_makes_up_is_bounded() {
        let mut demands = Demands::new("a".into());
        demands.hear(demand_of("b", &[("acme", f64::NAN), ("other", -5.0)]), NOW);
        assert!((demands.share("acme", 1.0, NOW) - 0.75).abs() < 1e-9);
        for number in 0..2 * GATEWAYS {
            demands.hear(demand_of(&format!("g{number}"), &[]), NOW);
        }
        assert_eq!(demands.heard.len(), GATEWAYS);
        demands.hear(demand_of("late", &[]), NOW + SILENCE);
        assert_eq!(demands.heard.len(), 1, "those who are silent make room");
    }

    #[tokio::test]
    async fn what_is_told_is_heard() {
        let bus = LocalBus::new("i.a");
        let other = bus.connect("i.b");
        let mut heard = other.subscribe(DEMANDS.into()).await.expect("subscribed");
        let all: Vec<_> =
            (0..100).map(|number| (format!("t{number}"), f64::from(number))).collect();
        tell(&bus, "a", &all.iter().cloned().collect()).await.expect("told");
        let mut demands = Demands::new("b".into());
        let mut met = 0;
        while met < all.len() {
            let demand = next(&mut heard).await.expect("a demand");
            met += demand.wants.len();
            demands.hear(demand, NOW);
        }
        for (tenant, wanted) in all {
            let share = demands.share(&tenant, wanted, NOW);
            assert!((share - 0.5).abs() < 1e-9, "{tenant} {share}");
        }
    }
}
