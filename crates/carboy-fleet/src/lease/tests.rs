//! Leases on a ledger inside the process, where time stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::Random;

const QUOTA: Amount = Amount { runs: 16, sessions: 4 };

fn gateways(ledger: &LocalLedger, clock: &Clock, count: usize) -> Vec<Arc<Lessee<LocalLedger>>> {
    let lessee = |number| {
        let quotas = [("acme".to_owned(), QUOTA)];
        Arc::new(Lessee::new(ledger.clone(), format!("g{number}"), clock.clone(), quotas))
    };
    (0..count).map(lessee).collect()
}

fn runs(runs: u64) -> Amount {
    Amount { runs, sessions: 0 }
}

/// Time passes, and all of these are heard by all.
fn pass(clock: &Clock, all: &[&Arc<Lessee<LocalLedger>>], time: Duration) {
    let step = Duration::from_millis(500);
    let mut passed = Duration::ZERO;
    while passed < time {
        clock.pass(step);
        passed += step;
        for one in all {
            one.tick(true);
            all.iter().for_each(|other| one.hear(&other.own));
        }
    }
}

#[tokio::test]
async fn what_one_does_not_use_another_can_lease() {
    let (ledger, clock) = (LocalLedger::default(), Clock::manual());
    let all = gateways(&ledger, &clock, 2);
    assert_eq!(all[0].more("acme", runs(1)).await, runs(2), "a step is an eighth");
    assert_eq!(all[0].more("acme", runs(15)).await, runs(16));
    assert_eq!(all[1].more("acme", runs(1)).await, runs(0), "there is none left");
    assert_eq!(all[0].settle("acme", || runs(3)).await, runs(4));
    assert_eq!(all[1].more("acme", runs(20)).await, runs(12));
    assert_eq!(all[0].more("acme", runs(5)).await, runs(4));
    assert_eq!(all[1].more("nobody", runs(5)).await, runs(0));
    let both = Amount { runs: 4, sessions: 1 };
    assert_eq!(all[0].more("acme", both).await, both);
}

#[tokio::test]
async fn leases_of_who_is_gone_are_free_after_a_while_and_not_before() {
    let (ledger, clock) = (LocalLedger::default(), Clock::manual());
    let all = gateways(&ledger, &clock, 3);
    let (gone, stays) = (&all[0], &all[1]);
    pass(&clock, &[gone, stays], SILENCE * 2);
    assert_eq!(gone.more("acme", runs(16)).await, runs(16));
    pass(&clock, &[stays], SILENCE - Duration::from_secs(1));
    assert_eq!(stays.more("acme", runs(1)).await, runs(0));
    // Who was started a moment ago has not listened for long enough.
    let quotas = [("acme".to_owned(), QUOTA)];
    let new = Arc::new(Lessee::new(ledger.clone(), "new".into(), clock.clone(), quotas));
    pass(&clock, &[stays, &new], Duration::from_secs(2));
    assert_eq!(new.more("acme", runs(1)).await, runs(0));
    assert_eq!(stays.more("acme", runs(1)).await, runs(2));
}

#[tokio::test]
async fn who_was_cut_off_gives_out_nothing_before_it_has_looked() {
    let (ledger, clock) = (LocalLedger::default(), Clock::manual());
    let all = gateways(&ledger, &clock, 2);
    let (cut, other) = (&all[0], &all[1]);
    assert_eq!(cut.more("acme", runs(16)).await, runs(16));
    // A moment is nothing.
    cut.tick(false);
    clock.pass(Duration::from_secs(1));
    cut.tick(true);
    assert_eq!(cut.held("acme"), runs(16));
    for _ in 0..4 {
        clock.pass(Duration::from_secs(1));
        cut.tick(false);
    }
    assert_eq!(cut.held("acme"), runs(0));
    cut.tick(true);
    assert_eq!(cut.more("acme", runs(1)).await, runs(2), "it is there again");
    // So is who stood still, and others took what it had, also before it notices.
    pass(&clock, &[other], SILENCE * 2);
    assert_eq!(other.more("acme", runs(16)).await, runs(16));
    assert_eq!(cut.held("acme"), runs(0));
    cut.tick(true);
    assert_eq!(cut.held("acme"), runs(0));
    cut.hear("g1");
    assert_eq!(cut.more("acme", runs(1)).await, runs(0));
}

#[tokio::test]
async fn without_the_ledger_a_gateway_has_what_it_had() {
    let (ledger, clock) = (LocalLedger::default(), Clock::manual());
    let all = gateways(&ledger, &clock, 2);
    assert_eq!(all[0].more("acme", runs(3)).await, runs(4));
    ledger.set_away(true);
    assert_eq!(all[0].more("acme", runs(9)).await, runs(4));
    assert_eq!(all[1].more("acme", runs(1)).await, runs(0));
    assert_eq!(all[0].settle("acme", || runs(1)).await, runs(2), "less is always right");
    ledger.set_away(false);
    assert_eq!(all[1].more("acme", runs(16)).await, runs(0), "it is not asked again at once");
    clock.pass(PATIENCE);
    assert_eq!(all[1].more("acme", runs(16)).await, runs(12), "the ledger does not know yet");
    assert_eq!(all[0].settle("acme", || runs(1)).await, runs(2));
    assert_eq!(all[1].more("acme", runs(16)).await, runs(14));
}

#[tokio::test]
async fn what_was_written_over_is_begun_anew_and_nothing_is_given_out_twice() {
    let (ledger, clock) = (LocalLedger::default(), Clock::manual());
    let all = gateways(&ledger, &clock, 3);
    let (holds, wants, has) = (&all[0], &all[1], &all[2]);
    let there = [holds, wants, has];
    pass(&clock, &there, SILENCE);
    assert_eq!(holds.more("acme", runs(7)).await, runs(8));
    assert_eq!(has.more("acme", runs(2)).await, runs(2));
    for again in [false, true] {
        ledger.spoil("acme");
        // As if everything were held, and who holds something goes on.
        let second = Duration::from_secs(1);
        for passed in 0..10 {
            assert_eq!(wants.more("acme", runs(1)).await, runs(0), "after {passed} s");
            assert_eq!(has.more("acme", runs(3)).await, runs(2), "after {passed} s");
            assert_eq!(holds.settle("acme", || runs(8)).await, runs(8));
            if again && passed == 8 {
                ledger.spoil("acme");
            }
            pass(&clock, &there, second);
        }
        if again {
            // What was written over a second time has its time too.
            assert_eq!(wants.more("acme", runs(1)).await, runs(0));
            for _ in 0..10 {
                pass(&clock, &there, second);
                holds.settle("acme", || runs(8)).await;
                has.settle("acme", || runs(2)).await;
            }
        }
        assert_eq!(wants.more("acme", runs(16)).await, runs(6), "what the others leave");
        assert_eq!(wants.settle("acme", || runs(0)).await, runs(0));
    }
}

#[tokio::test]
async fn never_more_than_the_quota_is_given_out_at_once() {
    let (ledger, clock) = (LocalLedger::default(), Clock::manual());
    let all = gateways(&ledger, &clock, 4);
    let (now, most, given) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let work = |lessee: Arc<Lessee<LocalLedger>>, seed| {
        let (now, most, given) = (&now, &most, &given);
        async move {
            let (mut random, mut own) = (Random::new(seed), 0);
            for _ in 0..2_000 {
                match random.below(3) {
                    0 if own > 0 => {
                        own -= 1;
                        now.fetch_sub(1, Ordering::SeqCst);
                    }
                    1 => drop(lessee.settle("acme", || runs(own)).await),
                    _ => {
                        lessee.more("acme", runs(own + 1)).await;
                        if own < lessee.held("acme").runs {
                            own += 1;
                            given.fetch_add(1, Ordering::SeqCst);
                            let at_once = now.fetch_add(1, Ordering::SeqCst) + 1;
                            most.fetch_max(at_once, Ordering::SeqCst);
                        }
                    }
                }
                tokio::task::yield_now().await;
            }
            now.fetch_sub(own, Ordering::SeqCst);
            lessee.settle("acme", || runs(0)).await;
        }
    };
    let works = all.iter().cloned().zip(1..).map(|(lessee, seed)| work(lessee, seed));
    futures_util::future::join_all(works).await;
    let (most, given) = (most.load(Ordering::SeqCst), given.load(Ordering::SeqCst));
    assert!(most <= QUOTA.runs && most > QUOTA.runs / 2, "{most} at once, {given} in all");
    assert!(given > 500, "{given}");
    assert_eq!(all[2].more("acme", runs(16)).await, runs(16), "everything was given back");
}
