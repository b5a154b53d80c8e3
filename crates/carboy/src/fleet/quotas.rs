//! Quotas of tenants where several gateways serve them: once a second each says what it is asked for, and takes its part.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use carboy_engine::Sessions;
use carboy_fleet::quota::{DEMANDS, Demands, next, tell};
use carboy_fleet::{Bus, BusError};
use carboy_server::http::Door;

/// How often gateways say what they are asked for.
const EVERY: Duration = Duration::from_secs(1);

/// Shares the quotas of a door's tenants with the other gateways at this bus, until it is dropped. Without the bus the
/// door has all of every quota once the others are silent.
pub async fn share<R: Sessions, B: Bus>(
    bus: B,
    gateway: String,
    door: Arc<Door<R>>,
) -> Result<(), BusError> {
    let mut heard = bus.subscribe(DEMANDS.into()).await?;
    let mut demands = Demands::new(gateway.clone());
    let begun = Instant::now();
    let mut time = tokio::time::interval(EVERY);
    let mut last: HashMap<String, f64> = HashMap::new();
    loop {
        tokio::select! {
            demand = next(&mut heard) => match demand {
                Some(demand) => demands.hear(demand, begun.elapsed()),
                None => return Err(BusError::Closed),
            },
            _ = time.tick() => {
                let wants: HashMap<String, f64> = door.demands().into_iter().collect();
                let now = begun.elapsed();
                door.set_shares(|tenant| {
                    demands.share(tenant, wants.get(tenant).copied().unwrap_or(0.0), now)
                });
                // A tenant of which nothing is wanted any more is told once.
                let news = |(tenant, wanted): &(&String, &f64)| {
                    **wanted > 0.0 || last.get(*tenant).is_some_and(|before| *before > 0.0)
                };
                let told = wants.iter().filter(news).map(|(tenant, wanted)| (tenant.clone(), *wanted));
                // What cannot be told now is told in a second.
                tell(&bus, &gateway, &told.collect()).await.ok();
                last = wants;
            }
        }
    }
}
