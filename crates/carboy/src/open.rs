//! `--open`: a run as one page, in the browser of whoever has one.

use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use carboy_protocol::Outcome;

use crate::ends::end_word;
use crate::failure::Failure;
use crate::page::run::Page;

/// Writes the page of a run to a file of its own, and returns where it is. Its name holds 128 random bits, so
/// nobody else can have made it; nobody else can read it.
pub fn write(code: &str, outcome: &Outcome) -> Result<PathBuf, Failure> {
    let path = std::env::temp_dir().join(format!("carboy-{}.html", outcome.id));
    let page = Page {
        title: format!("run {}", outcome.id.get(..12).unwrap_or(&outcome.id)),
        end: (if outcome.error.is_none() { "ok" } else { "error" }, end_word(outcome).into()),
        remark: String::new(),
        code: Some(code),
        outcome: Some(outcome),
        failure: None,
        pictures: vec![],
        about: vec![("id", outcome.id.clone())],
    };
    let page = page.html();
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options
        .open(&path)
        .and_then(|mut file| file.write_all(page.as_bytes()))
        .map_err(Failure::os("write the page of the run"))?;
    Ok(path)
}

/// Opens the page where there is a desktop. Whether it was.
pub fn open(path: &std::path::Path) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if !is_set("DISPLAY") && !is_set("WAYLAND_DISPLAY") {
        return false;
    }
    let mut command = Command::new("xdg-open");
    command.arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
