//! `just simulate`: how short runs fare in fleets of 1 to 1,000 nodes, at half of what they can do up to half as much again.
//! Output is a table, or JSON lines with `--json`.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

mod node;
mod world;

use world::{Placement, Setting, World};

const NODES: [usize; 4] = [1, 10, 100, 1000];
const LOADS: [f64; 6] = [0.5, 0.7, 0.85, 0.95, 1.2, 1.5];
const CORES: usize = 2;

fn main() {
    let json = std::env::args().any(|argument| argument == "--json");
    if !json {
        println!(
            "placement    nodes  load  p50 ms  p99 ms  refusals a run  refused  goodput  runs/s a node"
        );
    }
    for placement in [Placement::TwoChoices, Placement::OneEnvironment, Placement::QueueGroup] {
        for nodes in NODES {
            for load in LOADS {
                // A small fleet has few runs a second: longer, so that there are more than a hundred thousand of them.
                let seconds = (4_000 / nodes as u64).max(60);
                let setting = Setting { placement, nodes, cores: CORES, load, seconds, seed: 7 };
                show(&setting, json);
            }
        }
    }
}

fn show(setting: &Setting, json: bool) {
    let figures = World::new(setting.clone()).figures();
    assert_eq!(figures.sent, figures.done + figures.refused, "a run was lost or ended twice");
    let name = match setting.placement {
        Placement::TwoChoices => "two-choices",
        Placement::OneEnvironment => "environment",
        Placement::QueueGroup => "queue-group",
    };
    let Setting { nodes, load, seconds, .. } = *setting;
    let (half, most) = (figures.short_ms(0.5), figures.short_ms(0.99));
    let sent = figures.sent as f64;
    let (refusals, refused) = (figures.refusals as f64 / sent, figures.refused as f64 / sent);
    let (goodput, rate) = (figures.goodput, figures.done as f64 / (seconds * nodes as u64) as f64);
    if json {
        println!(
            "{{\"placement\": \"{name}\", \"nodes\": {nodes}, \"load\": {load}, \"p50_ms\": {half:.2}, \
             \"p99_ms\": {most:.2}, \"refusals_a_run\": {refusals:.4}, \"refused\": {refused:.4}, \
             \"goodput\": {goodput:.4}, \"runs_a_second_a_node\": {rate:.2}}}"
        );
    } else {
        println!(
            "{name:<11} {nodes:>6} {load:>5} {half:>7.1} {most:>7.0} {refusals:>15.3} {refused:>8.3} {goodput:>8.3} {rate:>14.1}"
        );
    }
}
