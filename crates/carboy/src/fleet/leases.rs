//! Exact quotas of tenants where several gateways serve them: what a gateway has leased it may give out.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use carboy_engine::Sessions;
use carboy_fleet::jobs::{NatsJobs, StreamBounds};
use carboy_fleet::lease::{Amount, Lessee, NatsLedger};
use carboy_fleet::message::{GatewayBeat, read};
use carboy_fleet::name::GATEWAYS;
use carboy_fleet::{Bus, Clock, NatsBus, SessionKey};
use carboy_server::http::{Door, Lessor, Quota, TenantConfig};

/// How often it is looked whether this gateway can be heard.
const LOOK: Duration = Duration::from_millis(250);

/// How often what is not used is given back.
const SETTLE: Duration = Duration::from_secs(1);

/// The leases of a gateway.
pub struct Leases {
    lessee: Lessee<NatsLedger>,
    tenants: Vec<String>,
    bus: NatsBus,
}

impl Leases {
    /// Of those tenants that have exact quotas, if any have.
    pub fn of(
        bus: &NatsBus,
        url: &str,
        gateway: String,
        tenants: &BTreeMap<String, TenantConfig>,
        key: SessionKey,
    ) -> Option<Arc<Leases>> {
        let exact: Vec<_> = tenants.iter().filter(|(_, tenant)| tenant.exact).collect();
        let brokers = NatsJobs::brokers(bus.client(), url);
        let ledger = NatsLedger::new(bus.client(), StreamBounds::of_brokers(brokers).replicas, key);
        let quota = |tenant: &TenantConfig| Amount {
            runs: tenant.runs_at_once as u64,
            sessions: tenant.sessions_at_once as u64,
        };
        let quotas = exact.iter().map(|(name, tenant)| ((*name).clone(), quota(tenant)));
        let lessee = Lessee::new(ledger, gateway, Clock::new(), quotas);
        let tenants: Vec<_> = exact.iter().map(|(name, _)| (*name).clone()).collect();
        (!tenants.is_empty()).then(|| Arc::new(Leases { lessee, tenants, bus: bus.clone() }))
    }

    /// Hears who is there, and gives back what a door does not use, until it is dropped.
    pub async fn keep<R: Sessions>(self: Arc<Self>, door: Arc<Door<R>>) {
        tokio::join!(self.hear(), self.settle(&door));
    }

    /// Hears other gateways, and whether this one can be heard.
    async fn hear(&self) {
        let mut time = tokio::time::interval(LOOK);
        loop {
            let Ok(mut beats) = self.bus.subscribe(GATEWAYS.into()).await else {
                time.tick().await;
                self.lessee.tick(false);
                continue;
            };
            loop {
                tokio::select! {
                    beat = beats.next() => match beat {
                        Some(beat) => if let Ok((beat, _)) = read::<GatewayBeat>(&beat.payload) {
                            self.lessee.hear(&beat.gateway);
                        },
                        None => break,
                    },
                    _ = time.tick() => self.lessee.tick(self.bus.is_connected()),
                }
            }
        }
    }

    async fn settle<R: Sessions>(&self, door: &Door<R>) {
        let mut time = tokio::time::interval(SETTLE);
        time.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            time.tick().await;
            for tenant in &self.tenants {
                self.lessee.settle(tenant, || amount(door.in_use(tenant))).await;
            }
        }
    }
}

fn amount(quota: Quota) -> Amount {
    Amount { runs: quota.runs as u64, sessions: quota.sessions as u64 }
}

impl Lessor for Leases {
    fn held(&self, tenant: &str) -> Quota {
        let Amount { runs, sessions } = self.lessee.held(tenant);
        let count = |most: u64| usize::try_from(most).unwrap_or(usize::MAX);
        Quota { runs: count(runs), sessions: count(sessions) }
    }

    fn more<'a>(
        &'a self,
        tenant: &'a str,
        wanted: Quota,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            self.lessee.more(tenant, amount(wanted)).await;
        })
    }
}
