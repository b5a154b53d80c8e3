//! `carboy run`.

use std::io::{IsTerminal, Read, Write};
use std::path::Path;
use std::sync::Arc;

use carboy_engine::{Artifacts, Chunk, RunOptions, Runner, Stream};
use carboy_protocol::{ExitCode, Job, LeftOutReason, Outcome, OutputText, visible_json};
use carboy_store::{Existing, OutFolder, Recorder};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};

use crate::arguments::Run;
use crate::ends::end_word;
use crate::failure::{Failure, print, print_json};
use crate::given::give;
use crate::guest_text::{one_line, visible};
use crate::open;
use crate::paint::Paint;
use crate::pictures::Pictures;
use crate::traceback::coloured;

pub async fn run(arguments: Run) -> Result<std::process::ExitCode, Failure> {
    let mut job = Job::new(source(&arguments)?).with_policy(arguments.choice.policy()?);
    if let Some(text) = &arguments.input {
        job = job.with_input("context", input(text)?);
    }
    job = give(job, &arguments.given)?;
    let artifacts = wanted(&arguments)?;
    let code = arguments.open.then(|| job.code.clone());
    let engine = Recorder::open(arguments.choice.engine()?, arguments.recording.config()?)?;
    let (stop, cancel) = oneshot::channel();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            // The run may be over already.
            stop.send(()).ok();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            // Twice means now. The helper sees us go and takes everything with it.
            std::process::exit(i32::from(ExitCode::Cancelled as u8));
        }
    });
    let (chunks, printer) = if arguments.json {
        (None, None)
    } else {
        let (sender, receiver) = mpsc::channel(16);
        // A thread of its own: a slow terminal must not hold up the deadline.
        (Some(sender), Some(tokio::task::spawn_blocking(|| print_chunks(receiver))))
    };
    let ran = engine
        .run_with(
            job,
            RunOptions { chunks, cancel: Some(cancel), artifacts, ..RunOptions::default() },
        )
        .await;
    if let Some(printer) = printer {
        // A closed standard output is no reason to lose the outcome.
        printer.await.ok();
    }
    engine.shutdown().await;
    let outcome = ran?;
    if arguments.json {
        print_json(&outcome)?;
    } else {
        print_end(&outcome)?;
    }
    if let Some(code) = code {
        let page = open::write(&code, &outcome)?;
        let how = if open::open(&page) { "opened" } else { "not opened: there is no desktop" };
        let name = one_line(&page.display().to_string());
        let line = format!("{} {name} ({how})\n", Paint::stderr().green("page:"));
        std::io::stderr()
            .write_all(line.as_bytes())
            .map_err(Failure::os("write to standard error"))?;
    }
    // Whoever named a folder or a store for files counts on what is in it.
    let is_lost = outcome.artifacts_left_out.iter().any(|out| out.reason == LeftOutReason::Store);
    if is_lost && !arguments.json && !arguments.force {
        let hint = match arguments.out {
            Some(_) => "--force replaces what is there; or name another folder with --out",
            None => {
                "the folder artifacts in the store needs room, and this user must be able to write there"
            }
        };
        let line = format!("{} {hint}\n", Paint::stderr().cyan("hint:"));
        std::io::stderr()
            .write_all(line.as_bytes())
            .map_err(Failure::os("write to standard error"))?;
    }
    let code = match ExitCode::of(&outcome) {
        ExitCode::Ok if is_lost => ExitCode::Request,
        code => code,
    };
    Ok((code as u8).into())
}

/// What is to become of the files that the script leaves.
fn wanted(arguments: &Run) -> Result<Artifacts, Failure> {
    let Some(folder) = &arguments.out else { return Ok(Artifacts::List) };
    if folder.to_str().is_some_and(|text| text.contains("://")) {
        return Err(Failure::usage(
            format!("{} is no folder, and this build writes into folders only", folder.display()),
            "name a folder; in Rust, carboy_store::ArtifactStore with the feature `cloud` writes to S3, Google and Azure",
        ));
    }
    let existing = if arguments.force { Existing::Replace } else { Existing::Keep };
    let opened = OutFolder::open(folder, existing).map_err(|error| {
        Failure::usage(
            format!("cannot write to the folder {}: {error}", folder.display()),
            "name a folder that is there, or one that can be made in a folder that is there",
        )
    })?;
    Ok(Artifacts::Keep(Arc::new(opened)))
}

/// The script's text.
fn source(arguments: &Run) -> Result<String, Failure> {
    if let Some(code) = &arguments.code {
        return Ok(code.clone());
    }
    read_script(arguments.file.as_deref().unwrap_or(Path::new("-")))
}

/// The text of a file, or of standard input.
pub fn read_script(file: &Path) -> Result<String, Failure> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        let most = Job::MAX_CODE as u64 + 1;
        std::io::stdin()
            .take(most)
            .read_to_end(&mut bytes)
            .map_err(Failure::os("read the script from standard input"))?;
        bytes
    } else {
        std::fs::read(file).map_err(|error| {
            Failure::usage(
                format!("cannot read the script {}: {error}", file.display()),
                "name a Python file, - for standard input, or pass the code with -c",
            )
        })?
    };
    String::from_utf8(bytes).map_err(|_| {
        Failure::usage(
            format!("the script {} is not UTF-8", file.display()),
            "save it as UTF-8; other encodings are not accepted, whatever a coding line says",
        )
    })
}

/// The input as JSON.
pub fn input(text: &str) -> Result<Box<RawValue>, Failure> {
    let wrong = |why: String| {
        Failure::usage(
            format!("the input cannot be used: {why}"),
            "pass one JSON value, for example --input '[1, 2, 3]', or --input @data.json",
        )
    };
    let text = match text.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| wrong(format!("cannot read {file}: {error}")))?,
        None => text.to_owned(),
    };
    RawValue::from_string(text).map_err(|error| wrong(error.to_string()))
}

/// Prints output as it comes.
pub fn print_chunks(mut chunks: mpsc::Receiver<Chunk>) -> std::io::Result<()> {
    let (mut out, mut err) = (OutputText::default(), OutputText::default());
    while let Some(chunk) = chunks.blocking_recv() {
        match chunk.stream {
            Stream::Stdout => write_guest(std::io::stdout(), &mut out, &chunk.bytes)?,
            Stream::Stderr => write_guest(std::io::stderr(), &mut err, &chunk.bytes)?,
        }
    }
    Ok(())
}

fn write_guest(
    mut to: impl Write + IsTerminal,
    whole: &mut OutputText,
    bytes: &[u8],
) -> std::io::Result<()> {
    if to.is_terminal() {
        to.write_all(visible(&whole.take(bytes)).as_bytes())?;
    } else {
        to.write_all(bytes)?;
    }
    to.flush()
}

/// The result on standard output; how it went on standard error.
fn print_end(outcome: &Outcome) -> Result<(), Failure> {
    let paint = Paint::stderr();
    let mut end = told(outcome)?;
    let (word, usage) = (end_word(outcome), outcome.usage);
    let word = if outcome.error.is_none() { paint.green(word) } else { paint.red(word) };
    let peak = usage.peak_memory_bytes as f64 / f64::from(1 << 20);
    let figures = format!(
        "{:.1} ms wall, {:.1} ms cpu, {peak:.1} MiB, {} walls",
        usage.wall_ms,
        usage.cpu_ms,
        outcome.isolation.walls.as_str()
    );
    end.push_str(&format!("{word} {}\n", paint.dim(&figures)));
    std::io::stderr().write_all(end.as_bytes()).map_err(Failure::os("write to standard error"))
}

/// Prints the result on standard output, and returns all that is to be said of the rest.
pub fn told(outcome: &Outcome) -> Result<String, Failure> {
    let paint = Paint::stderr();
    let mut end = String::new();
    if let Some(result) = &outcome.result {
        let mut text = result.get().to_owned();
        text.push('\n');
        print(&visible_json(&text))?;
    }
    if let Some(text) = &outcome.result_text {
        let kind = outcome.result_type.as_deref().unwrap_or("result");
        end.push_str(&format!("{} {}\n", paint.dim(&one_line(kind)), visible(text)));
    }
    if let Some(note) = &outcome.result_note {
        end.push_str(&format!("{} {}\n", paint.cyan("note:"), one_line(note)));
    }
    if let Some(error) = &outcome.error {
        if let Some(traceback) = &error.traceback {
            end.push_str(&coloured(&visible(traceback), paint));
        }
        let place = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let head = match &error.limit {
            Some(limit) => format!("limit {}", limit.name.as_str()),
            None => one_line(&error.type_name),
        };
        let message = visible(&error.message);
        end.push_str(&format!("{} {head}{place}: {message}\n", paint.red("error:")));
        if let Some(hint) = &error.hint {
            end.push_str(&format!("{} {}\n", paint.cyan("hint:"), visible(hint)));
        }
        if let Some(hint) = &error.operator_hint {
            end.push_str(&format!("{} {}\n", paint.cyan("operator hint:"), visible(hint)));
        }
    }
    for denial in &outcome.denials {
        let times = if denial.count == 1 { String::new() } else { format!(" ×{}", denial.count) };
        // What the error above says need not be said twice.
        let said = outcome.error.as_ref().is_some_and(|error| {
            error.hint.as_ref() == Some(&denial.hint) || error.message == denial.hint
        });
        let hint = if said { String::new() } else { format!(": {}", one_line(&denial.hint)) };
        let what = one_line(&denial.what);
        let place = denial.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        end.push_str(&format!("{} {what}{place}{times}{hint}\n", paint.yellow("denied:")));
    }
    end.push_str(&shown(outcome, paint));
    for artifact in &outcome.artifacts {
        let path = one_line(&artifact.path);
        end.push_str(&format!("{} {path} ({} bytes)\n", paint.green("file:"), artifact.bytes));
    }
    for left_out in &outcome.artifacts_left_out {
        let (first, count) = (left_out.paths.first().map_or("", String::as_str), left_out.count);
        let others = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        let (path, why) = (one_line(first), one_line(&left_out.message));
        end.push_str(&format!("{} {path}{others}: {why}\n", paint.yellow("left out:")));
    }
    Ok(end)
}

/// Shows the pictures that the terminal can show, and names what else was shown.
fn shown(outcome: &Outcome, paint: Paint) -> String {
    let (pictures, mut lines) = (Pictures::of_stdout(), String::new());
    for display in &outcome.displays {
        if !pictures.is_some_and(|pictures| pictures.show(display)) {
            let (name, bytes) = (display.media_type.as_str(), display.data.get().len());
            lines.push_str(&format!("{} {name} ({bytes} bytes)\n", paint.green("display:")));
        }
    }
    if let Some(note) = &outcome.display_note {
        lines.push_str(&format!("{} {}\n", paint.yellow("not shown:"), one_line(note)));
    }
    lines
}
