//! What the simulation must show before anybody believes its figures: every run comes to one end, choices of two
//! beat a queue group, and a larger fleet does not do worse.

#[path = "../examples/simulate/node.rs"]
mod node;
#[path = "../examples/simulate/world.rs"]
mod world;

use world::{Figures, Placement, Setting, World};

fn simulated(placement: Placement, nodes: usize, load: f64, seconds: u64) -> Figures {
    let setting = Setting { placement, nodes, cores: 2, load, seconds, seed: 3 };
    let figures = World::new(setting).figures();
    assert_eq!(figures.sent, figures.done + figures.refused, "a run was lost or ended twice");
    figures
}

#[test]
fn two_choices_keep_short_runs_short_where_a_queue_group_does_not() {
    let two = simulated(Placement::TwoChoices, 10, 0.7, 40);
    let queue = simulated(Placement::QueueGroup, 10, 0.7, 40);
    assert_eq!(two.refused, 0);
    assert!(
        two.short_ms(0.99) * 3.0 < queue.short_ms(0.99),
        "{} and {}",
        two.short_ms(0.99),
        queue.short_ms(0.99)
    );
}

#[test]
fn what_is_too_much_is_refused_and_the_rest_is_done() {
    let figures = simulated(Placement::TwoChoices, 10, 1.5, 120);
    let refused = figures.refused as f64 / figures.sent as f64;
    assert!(
        refused > 0.1 && figures.goodput > 0.9,
        "refused {refused}, goodput {}",
        figures.goodput
    );
}

#[test]
fn ten_times_the_nodes_do_ten_times_the_work() {
    let few = simulated(Placement::TwoChoices, 5, 0.85, 60);
    let many = simulated(Placement::TwoChoices, 50, 0.85, 60);
    let ratio = many.done as f64 / few.done as f64 / 10.0;
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
}
