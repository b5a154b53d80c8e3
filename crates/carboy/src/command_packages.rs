//! `carboy doctor --packages`: which packages of an interpreter can be imported behind the walls, and which
//! can be preloaded.
//!
//! The interpreter is asked for its packages in a jar too, because listing them reads what they wrote.

use std::io::IsTerminal;

use carboy_engine::{Engine, RunError};
use carboy_protocol::{ExitCode, Job, Outcome, Policy, Preset};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::choice::{self, Interpreter};
use crate::failure::{Failure, print, print_json};
use crate::guest_text::one_line;
use crate::memory_budget::MemoryBudget;
use crate::paint::{Paint, progress};

/// Each distribution with the modules that it brings.
const LIST: &str = r#"
import importlib.metadata as metadata
modules = {}
for module, names in metadata.packages_distributions().items():
    for name in names:
        modules.setdefault(name, []).append(module)
rows = {d.metadata["Name"]: d.version for d in metadata.distributions() if d.metadata["Name"]}
result = [
    {"name": name, "version": rows[name], "modules": sorted(modules.get(name, []))}
    for name in sorted(rows, key=str.lower)
]
"#;
/// They bring nothing that code in a jar could use.
const TOOLS: [&str; 3] = ["pip", "setuptools", "wheel"];

/// A distribution, as the interpreter lists it.
#[derive(Deserialize)]
struct Installed {
    name: String,
    version: String,
    modules: Vec<String>,
}

impl Installed {
    /// The module that stands for the distribution: of its own name, or the first.
    fn module(&self) -> Option<&str> {
        let own = self.name.to_lowercase().replace(['-', '.'], "_");
        let is_plain = |module: &&String| {
            module.starts_with(|first: char| first.is_ascii_alphabetic())
                && module.chars().all(|one| one.is_ascii_alphanumeric() || one == '_')
        };
        let mut plain = self.modules.iter().filter(is_plain);
        let first = plain.clone().next();
        plain.find(|module| module.to_lowercase() == own).or(first).map(String::as_str)
    }
}

/// What became of one distribution.
#[derive(Serialize)]
struct Row {
    name: String,
    version: String,
    module: String,
    /// Why it could not be imported.
    import_error: Option<String>,
    import_ms: f64,
    peak_memory_bytes: u64,
    /// What it asked for and did without.
    refused: Vec<String>,
    /// Why it could not be preloaded.
    preload_error: Option<String>,
    /// Why it is preloaded in each jar, after sealing, instead of once for all.
    preload_late: Option<&'static str>,
}

/// Tries every package of an interpreter.
pub async fn packages(python: &Interpreter, json: bool) -> Result<std::process::ExitCode, Failure> {
    let engine = choice::engine(python, vec![], &MemoryBudget::default())?;
    let installed = installed(&engine).await?;
    let some: Vec<_> = installed
        .iter()
        .filter(|one| !TOOLS.contains(&one.name.to_lowercase().as_str()))
        .filter_map(|one| one.module().map(|module| (one, module)))
        .collect();
    let shown = !json && std::io::stderr().is_terminal();
    let mut rows = vec![];
    for (done, (one, module)) in some.iter().enumerate() {
        if shown {
            progress(&format!("{} of {}: {}", done + 1, some.len(), one_line(&one.name)));
        }
        rows.push(tried(&engine, python, one, module).await?);
    }
    if shown {
        progress("");
    }
    engine.shutdown().await;
    if json {
        print_json(&json!({ "python": python.python, "packages": rows }))?;
    } else {
        print(&table(&rows, Paint::stdout()))?;
    }
    let is_fine = rows.iter().all(|row| row.import_error.is_none() && row.preload_error.is_none());
    let code = if is_fine { ExitCode::Ok } else { ExitCode::Engine };
    Ok((code as u8).into())
}

async fn installed(engine: &Engine) -> Result<Vec<Installed>, Failure> {
    let outcome = engine.run(job(LIST)).await?;
    let listed = outcome.result.as_ref().and_then(|list| serde_json::from_str(list.get()).ok());
    listed.ok_or_else(|| {
        let why = told(&outcome).unwrap_or_else(|| "its list cannot be read".into());
        Failure::usage(
            format!("the interpreter does not list its packages: {why}"),
            "CPython from 3.10 on can",
        )
    })
}

fn job(code: &str) -> Job {
    Job::new(code).with_policy(Policy::preset(Preset::Medium))
}

async fn tried(
    engine: &Engine,
    python: &Interpreter,
    one: &Installed,
    module: &str,
) -> Result<Row, Failure> {
    let outcome = engine.run(job(&format!("import {module}\n"))).await?;
    let refused = outcome.denials.iter().chain(&outcome.probes);
    let (preload_error, preload_late) = preloaded(python, module).await?;
    Ok(Row {
        name: one.name.clone(),
        version: one.version.clone(),
        module: module.into(),
        import_error: told(&outcome),
        import_ms: outcome.usage.wall_ms,
        peak_memory_bytes: outcome.usage.peak_memory_bytes,
        refused: refused.map(|denial| denial.what.clone()).collect(),
        preload_error,
        preload_late,
    })
}

/// Why a module cannot be preloaded, if it cannot, and why it is preloaded in each jar, if it is.
async fn preloaded(
    python: &Interpreter,
    module: &str,
) -> Result<(Option<String>, Option<&'static str>), Failure> {
    let engine = choice::engine(python, vec![module.into()], &MemoryBudget::default())?;
    let run = engine.run(job("result = 1\n")).await;
    let late = engine.preloads().into_iter().find_map(|preload| preload.late);
    engine.shutdown().await;
    let error = match run {
        Ok(outcome) => told(&outcome),
        Err(RunError::Request(error)) => Some(error.to_string()),
        Err(RunError::Engine(error)) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            Some(format!("{error}{}", cause.unwrap_or_default()))
        }
        Err(error) => return Err(error.into()),
    };
    Ok((error, late))
}

/// Why an outcome is not ok, in one line.
fn told(outcome: &Outcome) -> Option<String> {
    let error = outcome.error.as_ref()?;
    let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    Some(format!("{}: {}{hint}", error.type_name, error.message))
}

/// How wide a column is, of all rows and its title.
fn width(rows: &[Row], title: &str, most: usize, of: fn(&Row) -> &str) -> usize {
    let widest = rows.iter().map(|row| one_line(of(row)).chars().count()).max().unwrap_or(0);
    widest.clamp(title.len(), most)
}

/// What somebody who wants to use a package should know, beside that it works.
fn notes(row: &Row) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(late), None) = (row.preload_late, &row.preload_error) {
        notes.push(format!("preloaded in each jar: {late}"));
    }
    if !row.refused.is_empty() && row.import_error.is_none() {
        notes.push(format!("does without {}", one_line(&row.refused.join(", "))));
    }
    notes
}

fn table(rows: &[Row], paint: Paint) -> String {
    let names = width(rows, "package", 30, |row| &row.name);
    let versions = width(rows, "version", 16, |row| &row.version);
    let modules = width(rows, "module", 24, |row| &row.module);
    let mark = |error: &Option<String>| match error {
        None => paint.green("ok    "),
        Some(_) => paint.red("failed"),
    };
    let mut text = format!(
        "{:names$}  {:versions$}  {:modules$}  import  preload      time   memory\n",
        "package", "version", "module"
    );
    for row in rows {
        let [name, version, module] =
            [&row.name, &row.version, &row.module].map(|text| one_line(text));
        let megabytes = row.peak_memory_bytes >> 20;
        let line = format!(
            "{}  {version:versions$}  {module:modules$}  {}  {}  {:6.0} ms  {megabytes:4} MB  {}",
            paint.bold(&format!("{name:names$}")),
            mark(&row.import_error),
            mark(&row.preload_error),
            row.import_ms,
            notes(row).join("; "),
        );
        text.push_str(&format!("{}\n", line.trim_end()));
        for (what, error) in [("import", &row.import_error), ("preload", &row.preload_error)] {
            if let Some(error) = error {
                let what = paint.cyan(&format!("{what}:"));
                text.push_str(&format!("{:names$}  {what} {}\n", "", one_line(error)));
            }
        }
    }
    text + &summary(rows)
}

/// The last line: how many, and which not.
fn summary(rows: &[Row]) -> String {
    let those = |which: fn(&Row) -> bool| -> Vec<_> {
        rows.iter().filter(|row| which(row)).map(|row| one_line(&row.name)).collect()
    };
    let failed = those(|row| row.import_error.is_some() || row.preload_error.is_some());
    let late = those(|row| row.preload_error.is_none() && row.preload_late.is_some());
    let imported = those(|row| row.import_error.is_none()).len();
    let preloaded = those(|row| row.preload_error.is_none()).len();
    let mut text = format!(
        "\n{} packages: {imported} can be imported, {preloaded} preloaded, {} of these in each jar\n",
        rows.len(),
        late.len()
    );
    if !failed.is_empty() {
        text.push_str(&format!("failed: {}\n", failed.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_tried_by_the_module_of_its_name() {
        let module = |name: &str, modules: &[&str]| {
            let modules = modules.iter().map(|&module| module.into()).collect();
            let one = Installed { name: name.into(), version: String::new(), modules };
            one.module().map(str::to_owned)
        };
        assert_eq!(module("PyYAML", &["_yaml", "yaml"]).as_deref(), Some("yaml"));
        assert_eq!(
            module("typing-extensions", &["a", "typing_extensions"]).as_deref(),
            Some("typing_extensions")
        );
        assert_eq!(module("pillow", &["PIL"]).as_deref(), Some("PIL"));
        assert_eq!(module("odd", &["a b", "x;y", "9"]), None);
        assert_eq!(module("none", &[]), None);
    }

    #[test]
    fn a_row_tells_what_to_import_what_it_takes_and_what_is_special() {
        let row = |name: &str, module: &str| Row {
            name: name.into(),
            version: "1.0".into(),
            module: module.into(),
            import_error: None,
            import_ms: 12.3,
            peak_memory_bytes: 30 << 20,
            refused: vec![],
            preload_error: None,
            preload_late: None,
        };
        let rows = [
            row("pillow", "PIL"),
            Row { preload_late: Some("it starts a thread"), ..row("polars", "polars") },
            Row { refused: vec!["socket".into()], ..row("requests", "requests") },
            Row {
                import_error: Some("ImportError: no".into()),
                refused: vec!["socket".into()],
                ..row("odd", "odd")
            },
        ];
        let expected = "\
package   version  module    import  preload      time   memory
pillow    1.0      PIL       ok      ok          12 ms    30 MB
polars    1.0      polars    ok      ok          12 ms    30 MB  preloaded in each jar: it starts a thread
requests  1.0      requests  ok      ok          12 ms    30 MB  does without socket
odd       1.0      odd       failed  ok          12 ms    30 MB
          import: ImportError: no

4 packages: 3 can be imported, 4 preloaded, 1 of these in each jar
failed: odd
";
        assert_eq!(table(&rows, Paint::none()), expected);
    }
}
