//! `carboy drill`.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use carboy_drill::{Controls, Drill, Inside, Report, Row, corpus, is_quick, workers};
use carboy_engine::{Config, Installation, Machine, ablated};
use carboy_protocol::{ExitCode, Walls};
use serde_json::{Value, json};

use crate::arguments;
use crate::choice::InsideName;
use crate::failure::{Failure, print, print_json};
use crate::guest_text::one_line;
use crate::page::drill::{by_layer, page};
use crate::paint::Paint;

/// So many rows are not worth another process.
const FEW: usize = 24;

pub async fn drill(arguments: arguments::Drill) -> Result<std::process::ExitCode, Failure> {
    let walls = Walls::from(arguments.walls);
    let inside = Inside::from(arguments.inside);
    if inside != Inside::Jar && walls != Walls::Full {
        let hint = "attack the runs in them with `--inside jar`";
        return Err(Failure::usage("in nested walls there are no sessions", hint));
    }
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
    if arguments.worker {
        let drill = arguments.prepare()?;
        workers::work(&drill, &all).await.map_err(Failure::os("speak with the drill"))?;
        drill.close().await;
        return Ok(0.into());
    }
    let (promised, others): (Vec<&Row>, Vec<&Row>) =
        wanted.into_iter().partition(|row| why_not(row, walls, inside).is_none());
    let skipped: Vec<Value> = others
        .iter()
        .map(|row| json!({ "id": row.id, "why": why_not(row, walls, inside).map(|(_, why)| why) }))
        .collect();
    let mut counts = [0; WHY.len()];
    for (place, _) in others.iter().filter_map(|row| why_not(row, walls, inside)) {
        counts[place] += 1;
    }
    let mut progress = Progress::new(arguments.json, promised.len());
    let results = match arguments.jobs(promised.len()) {
        1 => {
            let drill = arguments.prepare()?;
            let mut results: Vec<Report> = Vec::new();
            for row in promised {
                progress.begin(row);
                let report = drill.run(row).await?;
                progress.end(&report);
                results.push(report);
            }
            drill.close().await;
            results
        }
        jobs => {
            let program = Installation::own().program;
            let came = |report: &Report| progress.end(report);
            workers::spread(|| arguments.worker(&program), &promised, jobs, came)
                .await
                .map_err(Failure::os("attack in several processes"))?
        }
    };
    progress.clear();
    let failed: Vec<&str> =
        results.iter().filter(|report| !report.held).map(|report| report.id.as_str()).collect();
    let body = json!({
        "walls": walls.as_str(),
        "inside": inside.as_str(),
        "rows": results.len(),
        "held": results.len() - failed.len(),
        "failed": failed,
        "skipped": skipped,
        "took_ms": started.elapsed().as_secs_f64() * 1e3,
        "results": results,
    });
    if let Some(file) = &arguments.html {
        let page = page(&body, &results);
        std::fs::write(file, page).map_err(Failure::os("write the report"))?;
    }
    if arguments.json {
        print_json(&body)?;
    } else {
        print(&summary(&results, counts, started.elapsed().as_secs_f64(), &body))?;
    }
    let code = if failed.is_empty() { ExitCode::Ok } else { ExitCode::Engine };
    Ok((code as u8).into())
}

/// Why rows are not tried, as counts of them are said.
const WHY: [&str; 3] =
    ["are not promised in these walls", "are about another architecture", "make no sense there"];

/// Why a row is not tried: its place among the reasons, and in words.
fn why_not(row: &Row, walls: Walls, inside: Inside) -> Option<(usize, String)> {
    let machine = row.machine.filter(|machine| *machine != Machine::HERE);
    if let Some(machine) = machine {
        return Some((1, format!("it is about {}", machine.name())));
    }
    if !row.walls.contains(&walls) {
        return Some((0, format!("{} walls do not promise it", walls.as_str())));
    }
    inside.cannot(row).map(|why| (2, why.to_owned()))
}

impl arguments::Drill {
    /// A drill as it was asked for.
    fn prepare(&self) -> Result<Drill, Failure> {
        let python = self.interpreter.find()?.program;
        let briefly = self.quick || self.inside != InsideName::Jar || !ablated().is_empty();
        let controls = match (self.controls, briefly) {
            // With a layer missing, in a hurry, or where jars have shown it already, nothing is shown of the limits.
            (false, true) => Controls::None,
            (false, false) => Controls::Raised,
            (true, _) => Controls::All,
        };
        let config = Config {
            versions: self.interpreter.versions(),
            ..Config::new(Installation::own(), python)
        };
        Ok(Drill::new(config, self.walls.into(), controls, self.inside.into())?)
    }

    /// How many processes attack so many rows. A few rows are done before another engine is warm.
    fn jobs(&self, rows: usize) -> usize {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or(processors, usize::from).min(rows.div_ceil(FEW)).max(1)
    }

    /// A process that attacks rows for this one.
    fn worker(&self, program: &Path) -> tokio::process::Command {
        let mut command = tokio::process::Command::new(program);
        command.args(["drill", "--worker", "--walls", Walls::from(self.walls).as_str()]);
        // Said only if it was: the controls of jars do not go with it.
        if self.inside != InsideName::Jar {
            command.args(["--inside", Inside::from(self.inside).as_str()]);
        }
        command.arg("--python").arg(&self.interpreter.python);
        if let Some(corpus) = &self.corpus {
            command.arg("--corpus").arg(corpus);
        }
        if let Some(repeats) = self.repeats {
            command.arg("--repeats").arg(repeats.to_string());
        }
        for (asked, flag) in [
            (self.controls, "--controls"),
            (self.quick, "--quick"),
            (self.interpreter.untested_python, "--untested-python"),
        ] {
            command.args(asked.then_some(flag));
        }
        command
    }

    fn wants(&self, row: &Row) -> bool {
        let named = self.row.iter().any(|id| *id == row.id || id == row.catalogue());
        // In a build that takes layers away, the rows that have another layer to hold them.
        let second = row.second != "none";
        (self.row.is_empty() || named)
            && ablated().first().is_none_or(|layer| *layer == row.first && second)
            && (self.class.is_empty() || self.class.iter().any(|class| class == row.class()))
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
        text.push_str(&format!("{:<10} {}\n", one_line(&row.id), one_line(&row.title)));
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
        self.show(self.done + 1, &row.id, &row.title);
    }

    fn show(&self, number: usize, id: &str, title: &str) {
        if self.shown {
            let line = format!("{number:>4}/{} {id:<10} {title}", self.all);
            let short: String = one_line(&line).chars().take(78).collect();
            self.say(&format!("\r\x1b[K{short}"));
        }
    }

    fn end(&mut self, report: &Report) {
        self.done += 1;
        self.show(self.done, &report.id, &report.title);
        if report.held || self.quiet {
            return;
        }
        let paint = Paint::stderr();
        self.clear();
        let (id, title) = (one_line(&report.id), one_line(&report.title));
        self.say(&format!("{} {id} {title}\n", paint.red("FAILED")));
        for fault in &report.faults {
            self.say(&format!("       {}\n", one_line(fault)));
        }
    }

    fn clear(&self) {
        if self.shown {
            self.say("\r\x1b[K");
        }
    }
}

fn summary(results: &[Report], skipped: [usize; WHY.len()], seconds: f64, body: &Value) -> String {
    let paint = Paint::stdout();
    let mut text = format!("{}\n", paint.bold("what stops it            held"));
    for (layer, (held, all)) in by_layer(results) {
        let line = format!("{:<22} {held:>3} of {all:<3}", one_line(layer));
        let line = if held == all { paint.green(&line) } else { paint.red(&line) };
        text.push_str(&format!("{line}\n"));
    }
    let held = results.iter().filter(|report| report.held).count();
    let verdict = format!(
        "\n{held} of {} attacks held in {} walls, each in a {} of its own, {seconds:.1} s",
        results.len(),
        body["walls"].as_str().unwrap_or_default(),
        body["inside"].as_str().unwrap_or_default(),
    );
    let all_held = held == results.len();
    text.push_str(&if all_held { paint.green(&verdict) } else { paint.red(&verdict) });
    for (number, why) in skipped.into_iter().zip(WHY).filter(|(number, _)| *number > 0) {
        text.push_str(&format!("; {number} rows {why}"));
    }
    text.push('\n');
    for report in results.iter().filter(|report| !report.held) {
        let (id, title) = (one_line(&report.id), one_line(&report.title));
        text.push_str(&format!("\n{} {title}\n", paint.red(&id)));
        for fault in &report.faults {
            text.push_str(&format!("  {}\n", one_line(fault)));
        }
    }
    text
}
