//! What a fleet may cost, each with what it did cost; and the same as a page.

use serde_json::{Value, json};

use super::super::machine_lines;
use crate::paint::Paint;

/// The most that gateway and broker may add to the median, in milliseconds.
const ADDED_MS: f64 = 0.5;

/// The least part of a plain server's throughput that two workers with half of its places each must have.
const KEPT: f64 = 0.9;

/// What one machine can show and what not.
pub const NOTES: [&str; 3] = [
    "One machine shows what gateway and broker add to a run in processor time and wake-ups, on loopback: a network adds its own time.",
    "Broker, gateway, workers and callers share its processors, so the throughput is what is left beside them: machines of their own have more.",
    "It cannot show that throughput grows with the nodes: two workers here have the processors of one.",
];

/// Every target, with what was found.
pub fn checks(report: &Value) -> Vec<Value> {
    // What is not there is no number, and no target is met by that.
    let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
    let added = number(&report["c1"]["added_p50_ms"]);
    let kept = number(&report["c16"]["gateway_over_plain"]);
    let nodes: Vec<u64> = report["nodes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|n| n["runs"].as_u64())
        .collect();
    let check = |name: &str, wanted: String, found: String, ok: bool| json!({ "name": name, "wanted": wanted, "found": found, "ok": ok });
    vec![
        check(
            "what gateway and broker add to the median, 1 caller",
            format!("at most {ADDED_MS} ms"),
            format!("{added:.3} ms"),
            added <= ADDED_MS,
        ),
        check(
            "runs a second of two workers over a plain server, 16 callers",
            format!("at least {KEPT}"),
            format!("{kept:.3}"),
            kept >= KEPT,
        ),
        check(
            "runs that each worker did",
            "two workers, both some".into(),
            format!("{nodes:?}"),
            nodes.len() == 2 && nodes.iter().all(|runs| *runs > 0),
        ),
    ]
}

/// The report for a person.
pub fn page(report: &Value, paint: Paint) -> String {
    let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    let mut text = machine_lines(&report["machine"], paint);
    if report["debug_build"] == json!(true) {
        text.push_str("This is a debug build: its times are not those of a release.\n\n");
    }
    text.push_str(&format!("{}\n", paint.bold("by a fleet, on kept connections")));
    for (name, part) in [
        ("carboy serve, 1 caller", "plain"),
        ("gateway and a worker, 1 caller", "gateway"),
        ("broker there and back, no run", "bare"),
    ] {
        let (p50, p99) =
            (number(&format!("/c1/{part}/p50_ms")), number(&format!("/c1/{part}/p99_ms")));
        text.push_str(&format!("  {name:<36} {p50:>9.3} p50 {p99:>9.3} p99  ms\n"));
    }
    for (name, path, unit) in [
        ("the fleet adds to the median", "/c1/added_p50_ms", "ms"),
        ("and to the quickest tenth", "/c1/added_p10_ms", "ms"),
        ("carboy serve, 16 callers", "/c16/plain_runs_per_s", "runs per second"),
        ("gateway and two workers, 16 callers", "/c16/gateway_runs_per_s", "runs per second"),
        ("fleet over carboy serve, median", "/c16/gateway_over_plain", ""),
        ("least of the rounds", "/c16/gateway_over_plain_least", ""),
        ("most of the rounds", "/c16/gateway_over_plain_most", ""),
    ] {
        text.push_str(format!("  {name:<36} {:>9.3} {unit}", number(path)).trim_end());
        text.push('\n');
    }
    text.push_str(&format!("\n{}\n", paint.bold("targets")));
    for check in report["checks"].as_array().into_iter().flatten() {
        let word = |name: &str| check[name].as_str().unwrap_or_default();
        let verdict = if check["ok"] == json!(true) { "ok  " } else { "FAIL" };
        let (name, wanted, found) = (word("name"), word("wanted"), word("found"));
        text.push_str(&format!("  {verdict} {name}: {found} (wanted: {wanted})\n"));
    }
    text.push_str(&format!("\n{}\n", paint.bold("what one machine shows")));
    for note in NOTES {
        text.push_str(&format!("  {note}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_meets_no_target() {
        assert!(checks(&json!({})).iter().all(|check| check["ok"] == json!(false)));
        let met = json!({
            "c1": { "added_p50_ms": 0.5 },
            "c16": { "gateway_over_plain": 0.9 },
            "nodes": [{ "runs": 1 }, { "runs": 2 }],
        });
        assert!(checks(&met).iter().all(|check| check["ok"] == json!(true)));
    }
}
