//! `carboy doctor`.

use std::io::IsTerminal;

use carboy_engine::doctor::{Report, State, examine};
use carboy_engine::{Config, Engine, Installation, PoolConfig, Preloading};
use carboy_protocol::{ExitCode, Walls};
use serde::Serialize;
use tokio::sync::mpsc;

use crate::arguments::Doctor;
use crate::capacity::{Capacity, measure};
use crate::failure::{Failure, print, print_json};
use crate::guest_text::one_line;
use crate::paint::{Paint, progress};

pub async fn doctor(arguments: Doctor) -> Result<std::process::ExitCode, Failure> {
    let Doctor { interpreter, preload, budget, .. } = arguments;
    let count = preload.len();
    let shown = !arguments.json && count > 0 && std::io::stderr().is_terminal();
    let (preloading, preloads) = mpsc::channel(count.max(1));
    let measured = Config {
        gate: budget.gate(),
        versions: interpreter.versions(),
        ..Config::new(Installation::own(), &interpreter.python)
    };
    let engine = Engine::new(Config {
        preload,
        preloading: shown.then_some(preloading),
        gate: budget.gate(),
        versions: interpreter.versions(),
        pool: PoolConfig { ceiling: 0, ..PoolConfig::default() },
        ..Config::new(Installation::own(), &interpreter.python)
    })?;
    let report = {
        let examined = std::pin::pin!(examine(&engine));
        tell(preloads, count, shown, examined).await
    };
    engine.shutdown().await;
    let walls = match (report.full, report.nested) {
        (true, _) => Some(Walls::Full),
        (false, true) => Some(Walls::Nested),
        (false, false) => None,
    };
    let capacity = match walls {
        Some(walls) if arguments.measure => Some(measure(measured, walls).await?),
        _ => None,
    };
    if arguments.json {
        print_json(&Told { report: &report, capacity: capacity.as_ref() })?;
    } else {
        let mut text = table(&report, Paint::stdout());
        text.extend(capacity.map(|capacity| format!("\n{}", capacity.text())));
        print(&text)?;
    }
    let code = if report.full { ExitCode::Ok } else { ExitCode::Engine };
    Ok((code as u8).into())
}

/// The report, with what was measured beside it.
#[derive(Serialize)]
struct Told<'a> {
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<&'a Capacity>,
}

/// Waits for the report, and shows meanwhile which modules are preloaded.
async fn tell<T>(
    mut preloads: mpsc::Receiver<Preloading>,
    count: usize,
    shown: bool,
    mut examined: impl Future<Output = T> + Unpin,
) -> T {
    if shown {
        progress(&format!("preloading {count} modules …"));
    }
    loop {
        tokio::select! {
            report = &mut examined => {
                if shown {
                    progress("");
                }
                return report;
            }
            Some(Preloading { preload, done, count }) = preloads.recv(), if shown => {
                progress(&format!("{done} of {count} preloaded: {}", one_line(&preload.module)));
            }
        }
    }
}

fn table(report: &Report, paint: Paint) -> String {
    let wide = report.rows.iter().map(|row| row.layer.len()).max().unwrap_or(0);
    let mut text = String::new();
    for row in &report.rows {
        let mark = match row.state {
            State::Ok => paint.green("ok     "),
            State::Missing => paint.red("missing"),
            State::Note => paint.yellow("note   "),
        };
        let layer = paint.bold(&format!("{:wide$}", row.layer));
        // Paths and names of packages are in these.
        text.push_str(&format!("{mark}  {layer}  {}\n", one_line(&row.offers)));
        if let Some(setting) = &row.setting {
            let indent = " ".repeat(wide + 11);
            let setting = one_line(setting);
            text.push_str(&format!("{indent}{} {setting}\n", paint.cyan("needs:")));
        }
    }
    let verdict = match (report.full, report.nested) {
        (true, _) => paint.green("This host runs guest code behind full walls."),
        (false, true) => paint.yellow(
            "This host runs guest code behind nested walls only: a policy must ask for them \
             (--walls nested).",
        ),
        (false, false) => paint.red("This host cannot run guest code."),
    };
    text.push_str(&format!("\n{verdict}\n"));
    text
}
