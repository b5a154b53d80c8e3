//! Recorded runs as a table.

use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use carboy_store::{Query, Row, Store, since};
use clap::ValueEnum;

use super::arguments::List;
use crate::failure::{Failure, print, print_json};
use crate::guest_text::{one_line, visible};
use crate::paint::Paint;

pub fn list(directory: &Path, arguments: &List) -> Result<ExitCode, Failure> {
    let now = SystemTime::now();
    let time = |text: &Option<String>| {
        let read = |text: &String| {
            since(text, now).ok_or_else(|| {
                Failure::usage(
                    format!("{text:?} is not a time"),
                    "write an age such as 15m, 12h or 7d, or a date or time in UTC such as 2026-11-16T03:21",
                )
            })
        };
        text.as_ref().map(read).transpose()
    };
    let query = Query {
        status: arguments.status.and_then(word),
        kind: arguments.kind.and_then(word),
        tenant: arguments.tenant.clone(),
        since: time(&arguments.since)?,
        until: time(&arguments.until)?,
        text: arguments.text.clone(),
        most: Some(arguments.most),
        among: None,
    };
    let rows = Store::open(directory)?.list(&query)?;
    if arguments.json {
        print_json(&rows)?;
    } else {
        print(&table(&rows, Paint::stdout()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A choice as it was typed.
fn word(choice: impl ValueEnum) -> Option<String> {
    choice.to_possible_value().map(|value| value.get_name().to_owned())
}

fn table(rows: &[Row], paint: Paint) -> String {
    if rows.is_empty() {
        return "no run is recorded here that is like this\n".into();
    }
    let head = format!(
        "{:<12}  {:<19}  {:<10}  {:>10}  {:>9}  {}\n",
        "id", "time (UTC)", "end", "wall", "memory", "code"
    );
    let mut text = paint.dim(&head);
    for row in rows {
        let end = row.kind.as_deref().unwrap_or(&row.status);
        let padded = format!("{:<10}", one_line(end));
        let end = match row.status.as_str() {
            "ok" => paint.green(&padded),
            "abandoned" => paint.yellow(&padded),
            _ => paint.red(&padded),
        };
        let wall = row.wall_ms.map_or("-".into(), |ms| format!("{ms:.1} ms"));
        let peak = row.peak_memory_bytes.map(|bytes| bytes as f64 / f64::from(1 << 20));
        let peak = peak.map_or("-".into(), |mebibytes| format!("{mebibytes:.1} MiB"));
        let time = one_line(row.time.get(..19).unwrap_or(&row.time)).replace('T', " ");
        let id = one_line(row.id.get(..12).unwrap_or(&row.id));
        let begins: String = visible(&row.begins).replace(['\n', '\t'], " ");
        let begins: String = begins.chars().take(60).collect();
        text.push_str(&format!("{id:<12}  {time:<19}  {end}  {wall:>10}  {peak:>9}  {begins}\n"));
    }
    text
}
