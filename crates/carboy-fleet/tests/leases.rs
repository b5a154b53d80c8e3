//! Leases of exact quotas on real brokers, a new one and one that is too old for jobs.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests fail by panicking")]

#[path = "jobs/broker.rs"]
mod broker;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions};
use broker::Broker;
use carboy_fleet::lease::{Amount, Ledger, Lessee, NatsLedger};
use carboy_fleet::{Clock, SessionKey};

/// Longer than any machine needs.
const SOON: Duration = Duration::from_secs(300);

const QUOTA: u64 = 16;

fn runs(runs: u64) -> Amount {
    Amount { runs, sessions: 0 }
}

fn started(program: &Path, name: &str) -> Broker {
    let folder = broker::folder(name);
    let conf = format!("host: 127.0.0.1\njetstream {{ store_dir: {:?} }}\n", folder.join("kept"));
    std::fs::write(folder.join("nats.conf"), conf).unwrap();
    Broker::start(program, &folder.clone(), folder)
}

async fn connected(broker: &Broker) -> Client {
    let begun = Instant::now();
    loop {
        let options = ConnectOptions::new().connection_timeout(SOON);
        match options.connect(format!("nats://{}", broker.place)).await {
            Ok(client) => return client,
            Err(error) => assert!(begun.elapsed() < SOON, "{error}"),
        }
    }
}

fn lessee(client: &Client, name: &str, key: &SessionKey) -> Lessee<NatsLedger> {
    let quotas = [("a.b".to_owned(), runs(QUOTA))];
    let ledger = NatsLedger::new(client, 1, key.clone());
    Lessee::new(ledger, name.into(), Clock::manual(), quotas)
}

/// Two gateways that take and give back at random: never more than the quota at once, and what one does not use the
/// other can have.
async fn share(broker: &Broker) {
    let key = SessionKey::random("test").unwrap();
    let clients = [connected(broker).await, connected(broker).await];
    let all = [lessee(&clients[0], "one", &key), lessee(&clients[1], "two", &key)];
    // A busy machine may take longer to make the bucket than a broker has to answer.
    let begun = Instant::now();
    while all[0].more("a.b", runs(1)).await != runs(2) {
        assert!(begun.elapsed() < SOON, "no lease is given");
    }
    let (now, most, given) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let work = async |own: &Lessee<NatsLedger>, mut state: u64| {
        let mut has = 0;
        for _ in 0..300 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            match state >> 62 {
                0 if has > 0 => {
                    has -= 1;
                    now.fetch_sub(1, Ordering::SeqCst);
                }
                1 => drop(own.settle("a.b", || runs(has)).await),
                _ => {
                    own.more("a.b", runs(has + 1)).await;
                    if has < own.held("a.b").runs {
                        has += 1;
                        given.fetch_add(1, Ordering::SeqCst);
                        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    }
                }
            }
        }
        now.fetch_sub(has, Ordering::SeqCst);
    };
    tokio::join!(work(&all[0], 1), work(&all[1], 2));
    let (most, given) = (most.load(Ordering::SeqCst), given.load(Ordering::SeqCst));
    println!("at most {most} of {QUOTA} at once, {given} in all");
    assert!(most <= QUOTA, "{most}");
    let begun = Instant::now();
    // Each gives everything back, and then the other can have all of it.
    for (from, to) in [(0, 1), (1, 0)] {
        while all[from].settle("a.b", || runs(0)).await != runs(0)
            || all[to].more("a.b", runs(QUOTA)).await != runs(QUOTA)
        {
            assert!(begun.elapsed() < SOON, "leases do not move");
        }
    }
    // A revision that is not the latest changes nothing.
    let ledger = NatsLedger::new(&clients[0], 1, key);
    let (leases, revision) = ledger.read("a.b").await.unwrap();
    let leases = leases.unwrap();
    assert_eq!(leases.held.get("one"), Some(&runs(QUOTA)));
    assert!(!ledger.write("a.b", &leases, revision - 1).await.unwrap());
}

#[tokio::test]
async fn two_gateways_never_give_out_more_than_the_quota() {
    let Some(program) = broker::program() else { return };
    share(&started(&program, "leases")).await;
}

#[tokio::test]
async fn an_old_broker_keeps_leases_too() {
    let Some(program) = broker::old_program() else { return };
    share(&started(&program, "old-leases")).await;
}
