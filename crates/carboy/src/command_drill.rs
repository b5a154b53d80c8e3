//! `carboy drill`.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use carboy_drill::{Drill, Report, Row, corpus, is_quick};
use carboy_engine::{Python, ablated};
use carboy_protocol::{ExitCode, Walls};
use serde_json::{Value, json};

use crate::arguments;
use crate::drill_page;
use crate::failure::{Failure, print, print_json};
use crate::paint::Paint;

pub async fn drill(arguments: arguments::Drill) -> Result<std::process::ExitCode, Failure> {
    let walls = Walls::from(arguments.walls);
    let mut all = rows(arguments.corpus.as_deref())?;
    for row in &mut all {
        row.repeat = row.repeat.min(arguments.repeats.unwrap_or(usize::MAX)).max(1);
    }
    let wanted: Vec<&Row> = all.iter().filter(|row| arguments.wants(row)).collect();
    if wanted.is_empty() {
        let hint = "`carboy drill --list` prints every row";
        return Err(Failure::usage("there is no such row", hint));
    }
    if arguments.list {
        return list(&wanted);
    }
    let started = Instant::now();
    let python = Python::find(&arguments.python)?.program;
    let controls = !arguments.quick && !arguments.no_controls;
    let drill = Drill::new(arguments::installation()?, python, walls, controls)?;
    let (promised, others): (Vec<&Row>, Vec<&Row>) =
        wanted.into_iter().partition(|row| row.walls.contains(&walls));
    let why = format!("{} walls do not promise it", walls.as_str());
    let skipped: Vec<Value> =
        others.iter().map(|row| json!({ "id": row.id, "why": why })).collect();
    let mut results: Vec<Report> = Vec::new();
    let mut progress = Progress::new(arguments.json, promised.len());
    for row in promised {
        progress.begin(row);
        let report = drill.run(row).await?;
        progress.end(&report);
        results.push(report);
    }
    drill.close().await;
    progress.clear();
    let failed: Vec<&str> =
        results.iter().filter(|report| !report.held).map(|report| report.id.as_str()).collect();
    let body = json!({
        "walls": walls.as_str(),
        "rows": results.len(),
        "held": results.len() - failed.len(),
        "failed": failed,
        "skipped": skipped,
        "took_ms": started.elapsed().as_secs_f64() * 1e3,
        "results": results,
    });
    if let Some(file) = &arguments.html {
        let page = drill_page::page(&body, &results);
        std::fs::write(file, page).map_err(Failure::os("write the report"))?;
    }
    if arguments.json {
        print_json(&body)?;
    } else {
        print(&summary(&results, skipped.len(), started.elapsed().as_secs_f64(), walls))?;
    }
    let code = if failed.is_empty() { ExitCode::Ok } else { ExitCode::Engine };
    Ok((code as u8).into())
}

impl arguments::Drill {
    fn wants(&self, row: &Row) -> bool {
        let named = self.row.iter().any(|id| *id == row.id || id == row.catalogue());
        // In a build that takes layers away, the rows that have another layer to hold them.
        let second = row.second != "none";
        (self.row.is_empty() || named)
            && ablated().first().is_none_or(|layer| *layer == row.first && second)
            && self.class.as_ref().is_none_or(|class| class == row.class())
            && (!self.quick || is_quick(row))
    }
}

/// The rows that this program carries, or those of a folder and the folders in it.
fn rows(folder: Option<&Path>) -> Result<Vec<Row>, Failure> {
    let broken = |why| Failure::usage(format!("a row cannot be read: {why}"), "mend its header");
    let Some(folder) = folder else { return corpus().map_err(broken) };
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).map_err(Failure::os("list the corpus"))? {
            let path = entry.map_err(Failure::os("list the corpus"))?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "py") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(Failure::os("read a row"))?;
        let row = Row::parse(&text).map_err(|why| broken(format!("{}: {why}", path.display())))?;
        rows.push(row);
    }
    Ok(rows)
}

fn list(rows: &[&Row]) -> Result<std::process::ExitCode, Failure> {
    let mut text = String::new();
    for row in rows {
        text.push_str(&format!("{:<10} {}\n", row.id, row.title));
    }
    print(&text)?;
    Ok(0.into())
}

/// Shows a person what is being tried: one line that is written over, on a terminal.
struct Progress {
    shown: bool,
    quiet: bool,
    done: usize,
    all: usize,
}

impl Progress {
    fn new(quiet: bool, all: usize) -> Progress {
        Progress { shown: !quiet && std::io::stderr().is_terminal(), quiet, done: 0, all }
    }

    fn say(&self, text: &str) {
        // Only for whoever watches.
        std::io::stderr().write_all(text.as_bytes()).ok();
    }

    fn begin(&self, row: &Row) {
        if self.shown {
            let line = format!("{:>4}/{} {:<10} {}", self.done + 1, self.all, row.id, row.title);
            let short: String = line.chars().take(78).collect();
            self.say(&format!("\r\x1b[K{short}"));
        }
    }

    fn end(&mut self, report: &Report) {
        self.done += 1;
        if report.held || self.quiet {
            return;
        }
        let paint = Paint::stderr();
        self.clear();
        self.say(&format!("{} {} {}\n", paint.red("FAILED"), report.id, report.title));
        for fault in &report.faults {
            self.say(&format!("       {fault}\n"));
        }
    }

    fn clear(&self) {
        if self.shown {
            self.say("\r\x1b[K");
        }
    }
}

/// How many rows each layer is the first to stop, and how many of them held.
pub fn by_layer(results: &[Report]) -> BTreeMap<&str, (usize, usize)> {
    let mut layers: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for report in results {
        let counts = layers.entry(report.first.as_str()).or_default();
        counts.0 += usize::from(report.held);
        counts.1 += 1;
    }
    layers
}

fn summary(results: &[Report], skipped: usize, seconds: f64, walls: Walls) -> String {
    let paint = Paint::stdout();
    let mut text = format!("{}\n", paint.bold("what stops it            held"));
    for (layer, (held, all)) in by_layer(results) {
        let line = format!("{layer:<22} {held:>3} of {all:<3}");
        let line = if held == all { paint.green(&line) } else { paint.red(&line) };
        text.push_str(&format!("{line}\n"));
    }
    let held = results.iter().filter(|report| report.held).count();
    let verdict = format!(
        "\n{held} of {} attacks held in {} walls, {seconds:.1} s",
        results.len(),
        walls.as_str(),
    );
    let all_held = held == results.len();
    text.push_str(&if all_held { paint.green(&verdict) } else { paint.red(&verdict) });
    if skipped > 0 {
        text.push_str(&format!("; {skipped} rows are not promised in these walls"));
    }
    text.push('\n');
    for report in results.iter().filter(|report| !report.held) {
        text.push_str(&format!("\n{} {}\n", paint.red(&report.id), report.title));
        for fault in &report.faults {
            text.push_str(&format!("  {fault}\n"));
        }
    }
    text
}
