//! `carboy kernel install`: the file by which Jupyter finds this program.

use std::path::{Path, PathBuf};

use carboy_protocol::ExitCode;
use clap::ValueEnum;
use serde::Serialize;

use super::arguments::{Install, policy};
use crate::choice::Choice;
use crate::failure::{Failure, print};
use crate::guest_text::one_line;

/// What Jupyter reads.
#[derive(Serialize)]
struct Spec<'a> {
    argv: Vec<String>,
    display_name: &'a str,
    language: &'static str,
    /// A request on the control channel: a signal could not say which cell it is for.
    interrupt_mode: &'static str,
}

pub async fn install(arguments: &Install) -> Result<std::process::ExitCode, Failure> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "._-".contains(char);
    let name = &arguments.name;
    if name.is_empty() || name.starts_with('.') || !name.chars().all(is_plain) {
        return Err(Failure::usage(
            format!("`{}` is no name for a kernel", one_line(name)),
            "use letters, digits, dots, hyphens and underscores, for example --name carboy",
        ));
    }
    // What would stop every notebook is said now.
    let engine = arguments.choice.engine()?;
    engine.session(&policy(&arguments.choice)?).await?.close().await;
    engine.shutdown().await;
    let spec = Spec {
        argv: argv(&arguments.choice)?,
        display_name: &arguments.display_name,
        language: "python",
        interrupt_mode: "message",
    };
    let folder = match &arguments.prefix {
        Some(prefix) => prefix.join("share/jupyter"),
        None => own_folder()?,
    };
    let folder = folder.join("kernels").join(name);
    std::fs::create_dir_all(&folder).map_err(unwritable(&folder))?;
    let file = folder.join("kernel.json");
    let mut text = serde_json::to_string_pretty(&spec).map_err(Failure::os("write JSON"))?;
    text.push('\n');
    std::fs::write(&file, text).map_err(unwritable(&file))?;
    let place = one_line(&file.display().to_string());
    print(&format!("{place}\ntry it: jupyter console --kernel {name}\n"))?;
    Ok((ExitCode::Ok as u8).into())
}

/// How Jupyter starts this program, with what was chosen.
fn argv(choice: &Choice) -> Result<Vec<String>, Failure> {
    let own = std::env::current_exe().map_err(Failure::os("find this program"))?;
    let words = ["kernel", "run", "--connection-file", "{connection_file}"];
    let mut argv = vec![text(&own)?];
    argv.extend(words.map(String::from));
    argv.extend(["--python".into(), text(&choice.interpreter.find()?.program)?]);
    if choice.interpreter.untested_python {
        argv.push("--untested-python".into());
    }
    if let Some(policy) = &choice.policy {
        let whole = std::path::absolute(policy).map_err(Failure::os("find the policy"))?;
        argv.extend(["--policy".into(), text(&whole)?]);
    }
    let (preset, walls, profile) = (choice.preset, choice.walls, choice.profile);
    argv.extend(chosen("--preset", preset));
    argv.extend(chosen("--walls", walls));
    argv.extend(chosen("--profile", profile));
    if !choice.preload.is_empty() {
        argv.extend(["--preload".into(), choice.preload.join(",")]);
    }
    if let Some(bytes) = choice.budget.gate().memory_bytes {
        argv.extend(["--memory-budget".into(), bytes.to_string()]);
    }
    Ok(argv)
}

/// An option and what was chosen, as they are typed.
fn chosen(option: &str, value: Option<impl ValueEnum>) -> Vec<String> {
    let word = value.and_then(|value| value.to_possible_value());
    word.map_or(vec![], |word| vec![option.into(), word.get_name().into()])
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(String::from).ok_or_else(|| {
        Failure::usage(
            format!("{} is not UTF-8", one_line(&path.display().to_string())),
            "a kernel's file is JSON, and can only name paths that are",
        )
    })
}

/// Where Jupyter looks for kernels of this user.
fn own_folder() -> Result<PathBuf, Failure> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    if let Some(folder) = named("JUPYTER_DATA_DIR") {
        return Ok(folder.into());
    }
    if let Some(folder) = named("XDG_DATA_HOME") {
        return Ok(Path::new(&folder).join("jupyter"));
    }
    let home = named("HOME").ok_or_else(|| {
        Failure::usage("HOME is not set, so there is no folder of yours", "name one with --prefix")
    })?;
    Ok(Path::new(&home).join(".local/share/jupyter"))
}

fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> Failure {
    let place = one_line(&path.display().to_string());
    move |error| {
        let hint = "name a prefix that you may write to with --prefix, such as that of a venv";
        Failure::usage(format!("cannot write {place}: {error}"), hint)
    }
}
