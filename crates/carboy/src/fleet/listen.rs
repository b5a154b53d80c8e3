//! Listening to a fleet: the heartbeats of its nodes and gateways, and nothing else.

use std::time::{Duration, Instant};

use carboy_fleet::name::{GATEWAYS, HEARTBEATS, Start};
use carboy_fleet::{Bus, NatsBus, NatsOptions, Picture, Subscription, Watch};

use super::arguments::Brokers;
use super::brokers::{bus_failure, connect};
use crate::failure::Failure;

/// A connection that hears everybody.
pub struct Listener {
    watch: Watch,
    nodes: Subscription,
    gateways: Subscription,
    since: Instant,
    // The subscriptions end with it.
    _bus: NatsBus,
}

impl Listener {
    pub async fn connect(brokers: &Brokers) -> Result<Listener, Failure> {
        let own = Start::random().map_err(Failure::os("draw a random name"))?;
        let mut options = NatsOptions {
            url: brokers.nats.clone(),
            name: "carboy ops".into(),
            inbox: format!("_INBOX_o.{own}"),
            ..NatsOptions::default()
        };
        if let Some(folder) = &brokers.credentials {
            options = options.with_credentials(folder);
        }
        let bus = connect(&options).await?;
        let nodes = bus.subscribe(HEARTBEATS.into()).await.map_err(|error| bus_failure(&error))?;
        let gateways = bus.subscribe(GATEWAYS.into()).await.map_err(|error| bus_failure(&error))?;
        let watch = Watch::default();
        Ok(Listener { watch, nodes, gateways, since: Instant::now(), _bus: bus })
    }

    /// Listens for as long, and says what the fleet looks like then.
    pub async fn listen(&mut self, time: Duration) -> Picture {
        let end = tokio::time::Instant::now() + time;
        loop {
            let now = self.since.elapsed();
            tokio::select! {
                Some(beat) = self.nodes.next() => self.watch.heard_node(&beat.subject, &beat.payload, now),
                Some(beat) = self.gateways.next() => self.watch.heard_gateway(&beat.payload, now),
                () = tokio::time::sleep_until(end) => break,
            }
        }
        self.watch.picture(self.since.elapsed())
    }
}
