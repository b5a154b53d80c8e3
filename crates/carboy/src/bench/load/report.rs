//! What a server under load must do, each with what it did; and the same as a page.

use serde_json::{Value, json};

use crate::paint::Paint;

/// How much the server may grow from the third quarter of the time to the last: what an allocator keeps.
const GROWTH: f64 = 1.1;
const GROWTH_BYTES: f64 = 8.0 * 1048576.0;

/// Every promise, with what was found.
pub fn checks(report: &Value) -> Vec<Value> {
    let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(f64::NAN);
    let mut all = Vec::new();
    let mut check = |name: &str, wanted: &str, found: String, ok: bool| {
        all.push(json!({ "name": name, "wanted": wanted, "found": found, "ok": ok }));
    };
    for (part, when) in [("overload", "under overload"), ("restart", "at the end of the server")] {
        let of = |field: &str| number(&format!("/{part}/{field}"));
        let bad = ["lost", "run_twice", "answered_twice", "wrong", "failures"].map(of);
        check(
            &format!("accepted runs lost, run twice, answered twice or wrongly, failed, {when}"),
            "0",
            bad.map(|count| count.to_string()).join(", "),
            bad.iter().sum::<f64>() == 0.0,
        );
        check(
            &format!("runs accepted and requests refused, {when}"),
            "both",
            format!("{}, {}", of("accepted"), of("refused")),
            of("accepted") > 0.0 && of("refused") > 0.0,
        );
        let silent = of("refused_without_time");
        check(
            &format!("refusals that do not say when to come again, {when}"),
            "0",
            silent.to_string(),
            silent == 0.0,
        );
    }
    let refused = number("/overload/refused_ms_by_server/p99_ms");
    check(
        "a refusal, p99 of the server's own time",
        "under 10 ms",
        format!("{refused:.2} ms"),
        refused < 10.0,
    );
    let (before, after) = (
        number("/memory/most_in_third_quarter_bytes"),
        number("/memory/most_in_last_quarter_bytes"),
    );
    check(
        "the server's memory, third and last quarter",
        "no growth",
        format!("{:.1} MiB, {:.1} MiB", before / 1048576.0, after / 1048576.0),
        after <= before * GROWTH + GROWTH_BYTES,
    );
    let idle = number("/hostile/idle_at_once");
    check(
        "connections that say nothing, at once",
        &report["idle_wanted"].to_string(),
        idle.to_string(),
        idle >= number("/idle_wanted"),
    );
    let (without, beside) =
        (number("/hostile/accepted_per_s_without"), number("/hostile/accepted_per_s_beside"));
    check(
        "outcomes a second without and beside hostile clients",
        "at least half",
        format!("{without:.0}, {beside:.0}"),
        beside >= without / 2.0,
    );
    let silence = number("/overload/longest_silence_s");
    check(
        "the longest time without an outcome for anybody",
        "under 2 s",
        format!("{silence:.2} s"),
        silence < 2.0,
    );
    let ended = (&report["restart"]["exit_code"], &report["restart"]["session_run"]);
    check(
        "the server ends by itself, and answers a session's run",
        "0, 42",
        format!("{}, {}", ended.0, ended.1),
        ended == (&json!(0), &json!(42)),
    );
    let gone = &report["session_after_restart"];
    check(
        "a session of the server before",
        "410 session_ended",
        format!("{} {}", gone["status"], gone["code"].as_str().unwrap_or("?")),
        *gone == json!({ "status": 410, "code": "session_ended" }),
    );
    let over = number("/fair/p99_over_within");
    check(
        "p99 beside a tenant at ten times its quota, over the same within its quota",
        "at most 1.2",
        format!("{over:.2}"),
        over <= 1.2,
    );
    all
}

/// The report for a person.
pub fn page(report: &Value, paint: Paint) -> String {
    let number = |path: &str| report.pointer(path).and_then(Value::as_f64).unwrap_or(0.0);
    let mut text = format!("{}\n", paint.bold("a server under three times what it can do"));
    for (name, path, unit) in [
        ("capacity, 16 callers", "/capacity_per_s", "runs per second"),
        ("offered", "/overload/offered_per_s", "per second"),
        ("sent", "/overload/sent", ""),
        ("not sent: too many wait", "/overload/held_back", ""),
        ("closed without an answer, not run", "/overload/unanswered", ""),
        ("outcome, p50", "/overload/accepted_ms/p50_ms", "ms"),
        ("outcome, p99", "/overload/accepted_ms/p99_ms", "ms"),
        ("refusal, p50 of the server's own time", "/overload/refused_ms_by_server/p50_ms", "ms"),
        ("refusal, p99 as the client sees it", "/overload/refused_ms_by_client/p99_ms", "ms"),
        ("hostile connections in all", "/hostile/connections", ""),
        ("1 MiB headers refused", "/hostile/headers_refused", ""),
        ("trickling bodies ended", "/hostile/trickles_ended", ""),
        ("slow readers cut off", "/hostile/slow_readers_cut_off", ""),
        ("drained in", "/restart/drained_s", "s"),
        ("paced tenant alone, p99", "/fair/alone/p99_ms", "ms"),
        ("beside one within its quota, p99", "/fair/within/p99_ms", "ms"),
        ("the same and as much to /healthz, p99", "/fair/control/p99_ms", "ms"),
        ("beside one at ten times its quota, p99", "/fair/beyond/p99_ms", "ms"),
        ("requests to /healthz, over within", "/fair/control_p99_over_within", ""),
        ("ten times its quota, over alone", "/fair/p99_over_alone", ""),
        ("greedy tenant, refused", "/fair/beyond/refused", ""),
        ("the server's own time, within", "/fair/within/server_ms_per_s", "ms per second"),
        ("the same, /healthz", "/fair/control/server_ms_per_s", "ms per second"),
        ("the same, ten times the quota", "/fair/beyond/server_ms_per_s", "ms per second"),
    ] {
        text.push_str(&format!("  {name:<40} {:>10.2} {unit}\n", number(path)));
    }
    text.push_str(&format!("\n{}\n", paint.bold("what it must do")));
    for check in report["checks"].as_array().into_iter().flatten() {
        let word = |name: &str| check[name].as_str().unwrap_or_default();
        let verdict = if check["ok"] == json!(true) { "ok  " } else { "FAIL" };
        let (name, wanted, found) = (word("name"), word("wanted"), word("found"));
        text.push_str(&format!("  {verdict} {name}: {found} (wanted: {wanted})\n"));
    }
    text
}
