//! `carboy bench`.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use carboy_engine::Installation;
use carboy_protocol::ExitCode;
use serde_json::{Map, Value, json};

use crate::arguments;
use crate::bench::{self, Bench, BenchPart, Size, Subject, machine_lines};
use crate::failure::{Failure, print, print_json};
use crate::paint::Paint;

/// The broker's program, in one of the folders of PATH.
const BROKER: &str = "nats-server";

pub async fn bench(arguments: arguments::Bench) -> Result<std::process::ExitCode, Failure> {
    if arguments.broker.is_some() && arguments.subject != Some(Subject::Fleet) {
        return Err(Failure::usage(
            "only a fleet has a broker",
            "write `carboy bench fleet --broker PATH`",
        ));
    }
    let python = arguments.interpreter.find()?.program;
    let size = if arguments.quick {
        Size { paced: 200, loaded: 800 }
    } else {
        Size { paced: 1000, loaded: 4000 }
    };
    let mut bench = Bench {
        installation: Installation::own(),
        python,
        versions: arguments.interpreter.versions(),
        size,
        raw: Map::new(),
    };
    let progress = Progress(!arguments.json);
    let (report, page): (Value, fn(&Value, Paint) -> String) = match arguments.subject {
        Some(Subject::Fleet) => {
            progress.say("runs by a fleet, for about a minute");
            let broker = arguments.broker.as_deref().unwrap_or(Path::new(BROKER));
            (bench.fleet(broker).await?, bench::fleet::page)
        }
        Some(Subject::Load) => {
            progress.say("a server under load, for some minutes");
            let time = Duration::from_secs(if arguments.quick { 12 } else { 60 });
            (bench.load(time).await?, bench::load::page)
        }
        Some(Subject::Serve) => {
            progress.say("runs over HTTP");
            (bench.serve().await?, serve_page)
        }
        Some(Subject::Sessions) => {
            progress.say("sessions");
            (bench.sessions().await?, sessions_page)
        }
        None => (all(&arguments, &mut bench, &progress).await?, page),
    };
    if let Some(file) = &arguments.raw {
        let text = Value::Object(bench.raw).to_string();
        std::fs::write(file, text).map_err(Failure::os("write the raw samples"))?;
    }
    if arguments.json {
        print_json(&report)?;
    } else {
        print(&page(&report, Paint::stdout()))?;
    }
    let held = report["ok"] != json!(false);
    Ok((if held { ExitCode::Ok } else { ExitCode::Engine } as u8).into())
}

/// Every part that is wanted.
async fn all(
    arguments: &arguments::Bench,
    bench: &mut Bench,
    progress: &Progress,
) -> Result<Value, Failure> {
    let mut report = json!({ "machine": bench::machine(&bench.python), "job": bench::JOB });
    let wanted = |part| arguments.only.is_empty() || arguments.only.contains(&part);
    if wanted(BenchPart::Bare) {
        progress.say("bare fork and run");
        report["bare"] = bench.bare(&[])?;
    }
    if wanted(BenchPart::C1) {
        progress.say("sealed, one caller");
        report["sealed"]["c1"] = bench.paced("sealed.c1", &[]).await?;
    }
    for (part, callers) in [(BenchPart::C4, 4), (BenchPart::C16, 16)] {
        if wanted(part) {
            progress.say(&format!("sealed, {callers} callers"));
            let name = format!("c{callers}");
            report["sealed"][&name] = bench.loaded(&format!("sealed.{name}"), callers).await?;
        }
    }
    if wanted(BenchPart::Cold) {
        progress.say("cold start");
        report["cold"] = bench.cold().await?;
    }
    if wanted(BenchPart::Files) {
        progress.say("files in and out");
        report["files"] = bench.files().await?;
    }
    if wanted(BenchPart::Jar) {
        progress.say("a hundred jars");
        let stdlib = bench.hundred(&[], bench::JOB).await?;
        report["refill"] = json!({ "ms": stdlib["refill_ms"] });
        report["jar"]["unique_bytes"]["stdlib"] = stdlib["unique_bytes"].clone();
    }
    if wanted(BenchPart::Guard) {
        progress.say("the guard");
        report["guard"] = bench.guard().await?;
    }
    if wanted(BenchPart::Numpy) && bench.has("numpy") {
        progress.say("a hundred jars that use numpy");
        let code = "import numpy\nresult = float(numpy.arange(100).sum())";
        report["numpy_100"] = bench.hundred(&["numpy"], code).await?;
    }
    if wanted(BenchPart::Pandas) && bench.has("pandas") {
        progress.say("pandas preloaded");
        report["pandas"]["bare"] = bench.bare(&["pandas"])?;
        report["pandas"]["c1"] = bench.paced("pandas.c1", &["pandas"]).await?;
        let standing = bench.hundred(&["pandas"], bench::JOB).await?;
        report["jar"]["unique_bytes"]["pandas"] = standing["unique_bytes"].clone();
    }
    if arguments.peers && wanted(BenchPart::Peers) {
        progress.say("peers");
        report["peers"] = bench.peers();
    }
    report["ratios"] = ratios(&report);
    Ok(report)
}

/// Says what is being measured, to a person.
struct Progress(bool);

impl Progress {
    fn say(&self, what: &str) {
        if self.0 {
            // Only for whoever watches.
            std::io::stderr().write_all(format!("measuring: {what}\n").as_bytes()).ok();
        }
    }
}

/// Machines differ; what holds between two numbers of one run holds elsewhere too.
fn ratios(report: &Value) -> Value {
    let over = |a: &Value, b: &Value| Some(a.as_f64()? / b.as_f64()?);
    json!({
        "sealed_c1_over_bare_p50": over(&report["sealed"]["c1"]["p50_ms"], &report["bare"]["p50_ms"]),
        "sealed_c16_over_bare_runs_per_s":
            over(&report["sealed"]["c16"]["runs_per_s"], &report["bare"]["runs_per_s"]),
    })
}

fn serve_page(report: &Value, paint: Paint) -> String {
    let mut text = machine_lines(&report["machine"], paint);
    text.push_str(&format!("{}\n", paint.bold("over HTTP, on a kept connection")));
    let (one, many) = (&report["c1"], &report["c16"]);
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    for (name, value) in [("engine, 1 caller", &one["engine"]), ("HTTP, 1 caller", &one["http"])] {
        let (p50, p99) = (number(&value["p50_ms"]), number(&value["p99_ms"]));
        text.push_str(&format!("  {name:<28} {p50:>9.3} p50 {p99:>9.3} p99  ms\n"));
    }
    text.push_str(&format!(
        "  HTTP adds to the median       {:>9.3} ms\n",
        number(&one["added_p50_ms"])
    ));
    text.push_str(&format!(
        "  and to the processor's time   {:>9.3} ms\n",
        number(&one["added_cpu_ms"])
    ));
    for (name, key) in
        [("engine, 16 callers", "engine_runs_per_s"), ("HTTP, 16 callers", "http_runs_per_s")]
    {
        text.push_str(&format!("  {name:<28} {:>9.0} runs per second\n", number(&many[key])));
    }
    text.push_str(&format!(
        "  HTTP over engine              {:>9.3}\n",
        number(&many["http_over_engine"])
    ));
    text
}

fn sessions_page(report: &Value, paint: Paint) -> String {
    let mut text = machine_lines(&report["machine"], paint);
    text.push_str(&format!("{}\n", paint.bold("sessions, ms")));
    let mut row = |name: &str, value: &Value| {
        let number = |key: &str| value[key].as_f64().unwrap_or(0.0);
        let over = value["over_bare_fork"].as_f64();
        let over = over.map_or(String::new(), |over| format!("  {over:.2} × a bare fork"));
        let (p50, p99) = (number("p50_ms"), number("p99_ms"));
        text.push_str(&format!("  {name:<36} {p50:>9.3} p50 {p99:>9.3} p99{over}\n"));
    };
    row("run, `x += 1`", &report["run"]);
    row("run, without a pause", &report["run_burst"]);
    for (what, words) in
        [("bare_fork", "bare fork"), ("branch", "branch"), ("rollback", "rollback")]
    {
        for (size, value) in report[what].as_object().into_iter().flatten() {
            row(&format!("{words}, {size} MiB of data"), value);
        }
    }
    for (what, words) in [("shared", "files shared"), ("rollback", "files roll back")] {
        for (key, name) in [("run_burst", "run"), ("rollback", "rollback")] {
            for (size, value) in report["files"][what][key].as_object().into_iter().flatten() {
                row(&format!("{name}, {words}, {size} MiB"), value);
            }
        }
    }
    for (size, value) in report["ten_branches"].as_object().into_iter().flatten() {
        if let Some(bytes) = value["added_bytes"].as_f64() {
            let mib = bytes / f64::from(1 << 20);
            text.push_str(&format!("  ten branches, {size} MiB of data, add {mib:.1} MiB\n"));
        }
    }
    text
}

fn page(report: &Value, paint: Paint) -> String {
    let mut text = machine_lines(&report["machine"], paint);
    let mut rows: Vec<(String, &Value)> = vec![
        ("bare fork and run".into(), &report["bare"]),
        ("sealed, 1 caller".into(), &report["sealed"]["c1"]),
        ("sealed, 4 callers".into(), &report["sealed"]["c4"]),
        ("sealed, 16 callers".into(), &report["sealed"]["c16"]),
        ("sealed, cold start".into(), &report["cold"]),
        ("beside files: none".into(), &report["files"]["plain"]),
        ("a small file in".into(), &report["files"]["file_in"]),
        ("bytes in".into(), &report["files"]["bytes_in"]),
        ("a file of 2 GiB in".into(), &report["files"]["large_file_in"]),
        ("a picture out".into(), &report["files"]["file_out"]),
        ("a file in, one out".into(), &report["files"]["file_in_and_out"]),
        ("bare, pandas".into(), &report["pandas"]["bare"]),
        ("sealed, pandas".into(), &report["pandas"]["c1"]),
    ];
    for (name, peer) in report["peers"].as_object().into_iter().flatten() {
        rows.push((name.clone(), peer));
    }
    let missing: Vec<String> = rows
        .iter()
        .filter(|(_, value)| value["skipped"].is_string())
        .map(|(name, _)| name.clone())
        .collect();
    rows.retain(|(_, value)| value["p50_ms"].is_number());
    let p50 = |value: &Value| value["p50_ms"].as_f64().unwrap_or(0.0);
    let most = rows.iter().map(|(_, value)| p50(value)).fold(0.001, f64::max);
    text.push_str(&format!(
        "{}\n",
        paint.bold("time to the answer, ms (bars on a logarithmic scale)")
    ));
    for (name, value) in &rows {
        // From 10 µs to the slowest, so that a bar a third as long is not a third of the time.
        let part = ((p50(value) / 0.01).ln() / (most / 0.01).ln()).clamp(0.02, 1.0);
        let bar = "█".repeat((part * 30.0).round() as usize);
        let rate =
            value["runs_per_s"].as_f64().map_or(String::new(), |rate| format!("{rate:>7.0}/s"));
        text.push_str(&format!(
            "  {name:<20} {:>9.3} p50 {:>9.3} p99 {rate:>9}  {}\n",
            p50(value),
            value["p99_ms"].as_f64().unwrap_or(0.0),
            paint.cyan(&bar),
        ));
    }
    if !missing.is_empty() {
        let why = "not installed for this interpreter and user, or it failed";
        text.push_str(&format!("  not measured: {} ({why})\n", missing.join(", ")));
    }
    text.push_str(&format!("\n{}\n", paint.bold("jars")));
    let mut line = |name: &str, value: &Value, unit: &str, scale: f64| {
        if let Some(number) = value.as_f64() {
            text.push_str(&format!("  {name:<34} {:>9.2} {unit}\n", number / scale));
        }
    };
    line("made and warmed, each", &report["refill"]["ms"], "ms", 1.0);
    line("100 with numpy answered in", &report["numpy_100"]["wall_ms"], "ms", 1.0);
    let unique = &report["jar"]["unique_bytes"];
    line("memory of its own, stdlib", &unique["stdlib"], "MiB", f64::from(1 << 20));
    line("memory of its own, pandas", &unique["pandas"], "MiB", f64::from(1 << 20));
    let guard = &report["guard"];
    line("guard: CPython parse over check", &guard["cpython_over_check"], "×", 1.0);
    line("guard: check of 3,000 lines", &guard["check"]["p50_ms"], "ms", 1.0);
    for name in ["fib", "attributes", "group_by"] {
        line(&format!("guarded over unguarded, {name}"), &guard[name]["agent_over_open"], "×", 1.0);
    }
    let ratios = &report["ratios"];
    line("sealed over bare, p50", &ratios["sealed_c1_over_bare_p50"], "×", 1.0);
    line("sealed over bare, runs per second", &ratios["sealed_c16_over_bare_runs_per_s"], "×", 1.0);
    text
}
