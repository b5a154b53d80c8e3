//! `carboy doctor`.

use carboy_engine::doctor::{Report, State, examine};
use carboy_protocol::ExitCode;

use crate::arguments::{self, Doctor};
use crate::failure::{Failure, print, print_json};
use crate::paint::Paint;

pub async fn doctor(arguments: Doctor) -> Result<std::process::ExitCode, Failure> {
    let Doctor { interpreter, preload, budget, .. } = arguments;
    let engine = arguments::engine(&interpreter, preload, &budget)?;
    let report = examine(&engine).await;
    engine.shutdown().await;
    if arguments.json {
        print_json(&report)?;
    } else {
        let text = table(&report, Paint::stdout());
        print(&text)?;
    }
    let code = if report.full { ExitCode::Ok } else { ExitCode::Engine };
    Ok((code as u8).into())
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
        text.push_str(&format!("{mark}  {layer}  {}\n", row.offers));
        if let Some(setting) = &row.setting {
            let indent = " ".repeat(wide + 11);
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
