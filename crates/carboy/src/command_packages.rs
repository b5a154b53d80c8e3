//! `carboy doctor --packages`: which packages of an interpreter can be imported behind the walls, and which
//! can be preloaded.
//!
//! The interpreter is asked for its packages in a jar too, because listing them reads what they wrote.

use std::io::{IsTerminal, Write};

use carboy_engine::{Engine, RunError};
use carboy_protocol::{ExitCode, Job, Outcome, Policy, Preset};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::arguments::{self, Interpreter};
use crate::failure::{Failure, print, print_json};
use crate::guest_text::visible;
use crate::paint::Paint;

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
}

/// Tries every package of an interpreter.
pub async fn packages(python: &Interpreter, json: bool) -> Result<std::process::ExitCode, Failure> {
    let engine = arguments::engine(python, vec![])?;
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
            progress(&format!("{} of {}: {}", done + 1, some.len(), visible(&one.name)));
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

fn progress(text: &str) {
    let mut to = std::io::stderr();
    // Nothing depends on whether somebody reads it.
    drop(write!(to, "\r{text}\x1b[K").and_then(|()| to.flush()));
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
    Ok(Row {
        name: one.name.clone(),
        version: one.version.clone(),
        module: module.into(),
        import_error: told(&outcome),
        import_ms: outcome.usage.wall_ms,
        peak_memory_bytes: outcome.usage.peak_memory_bytes,
        refused: refused.map(|denial| denial.what.clone()).collect(),
        preload_error: preloaded(python, module).await?,
    })
}

/// Why a module cannot be preloaded, if it cannot.
async fn preloaded(python: &Interpreter, module: &str) -> Result<Option<String>, Failure> {
    let engine = arguments::engine(python, vec![module.into()])?;
    let run = engine.run(job("result = 1\n")).await;
    engine.shutdown().await;
    match run {
        Ok(outcome) => Ok(told(&outcome)),
        Err(RunError::Request(error)) => Ok(Some(error.to_string())),
        Err(RunError::Engine(error)) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
            Ok(Some(format!("{error}{}", cause.unwrap_or_default())))
        }
        Err(error) => Err(error.into()),
    }
}

/// Why an outcome is not ok, in one line.
fn told(outcome: &Outcome) -> Option<String> {
    let error = outcome.error.as_ref()?;
    let hint = error.hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
    Some(format!("{}: {}{hint}", error.type_name, error.message))
}

fn table(rows: &[Row], paint: Paint) -> String {
    let wide = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).clamp(7, 30);
    let versions =
        rows.iter().map(|row| row.version.chars().count()).max().unwrap_or(0).clamp(7, 16);
    let mark = |error: &Option<String>| match error {
        None => paint.green("ok    "),
        Some(_) => paint.red("failed"),
    };
    let mut text =
        format!("{:wide$}  {:versions$}  import  preload      time\n", "package", "version");
    for row in rows {
        let (name, version) = (visible(&row.name), visible(&row.version));
        let refused = match row.refused.join(", ") {
            none if none.is_empty() => none,
            some => format!("  without {}", visible(&some)),
        };
        text.push_str(&format!(
            "{}  {version:versions$}  {}  {}  {:6.0} ms{refused}\n",
            paint.bold(&format!("{name:wide$}")),
            mark(&row.import_error),
            mark(&row.preload_error),
            row.import_ms,
        ));
        for (what, error) in [("import", &row.import_error), ("preload", &row.preload_error)] {
            if let Some(error) = error {
                let what = paint.cyan(&format!("{what}:"));
                text.push_str(&format!("{:wide$}  {what} {}\n", "", visible(error)));
            }
        }
    }
    let count = |which: fn(&Row) -> bool| rows.iter().filter(|row| which(row)).count();
    let imported = count(|row| row.import_error.is_none());
    let preloaded = count(|row| row.preload_error.is_none());
    text + &format!(
        "\n{} packages: {imported} can be imported, {preloaded} preloaded\n",
        rows.len()
    )
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
}
