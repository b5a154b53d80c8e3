//! A session for a person: what is typed is run, and what came of it is shown.

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use carboy_engine::{Artifacts, RunOptions};
use carboy_protocol::{Limits, Outcome, Piece, Reply, SessionAnswer, StateAfter};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::ask::{Ask, COMMANDS, Typed};
use super::branches::{Branches, FIRST};
use super::editor::{Line, Typing};
use crate::command_run::{print_chunks, told};
use crate::failure::Failure;
use crate::guest_text::{is_plain_name, one_line};
use crate::open;
use crate::paint::Paint;

/// Builtins and keywords that are worth completing.
const WORDS: [&str; 24] = [
    "break",
    "class",
    "continue",
    "enumerate",
    "except",
    "finally",
    "float",
    "import",
    "isinstance",
    "lambda",
    "len",
    "list",
    "open",
    "print",
    "raise",
    "range",
    "return",
    "reversed",
    "sorted",
    "str",
    "sum",
    "while",
    "with",
    "yield",
];

/// A person's session.
pub struct Prompt {
    branches: Branches,
    limits: Limits,
    artifacts: Artifacts,
    interrupts: Signal,
    paint: Paint,
    runs: u64,
    wall_ms: f64,
    cpu_ms: f64,
    /// The code of the last run, and what came of it.
    last: Option<(String, Outcome)>,
}

impl Prompt {
    pub fn new(
        branches: Branches,
        limits: Limits,
        artifacts: Artifacts,
    ) -> Result<Prompt, Failure> {
        // Before the first line is read: the editor puts back what it finds.
        let interrupts = signal(SignalKind::interrupt()).map_err(Failure::os("hear of Ctrl-C"))?;
        let paint = Paint::stderr();
        let (runs, wall_ms, cpu_ms, last) = (0, 0.0, 0.0, None);
        Ok(Prompt { branches, limits, artifacts, interrupts, paint, runs, wall_ms, cpu_ms, last })
    }

    /// Runs what is typed until nothing more is.
    pub async fn serve(mut self, history: Option<PathBuf>) -> Result<(), Failure> {
        let (names, mut wanted) = mpsc::channel(1);
        let mut typing = Typing::new(history, names)?;
        loop {
            let prompt = match self.branches.current() {
                FIRST => ">>> ".to_owned(),
                name => format!("{}>>> ", one_line(name)),
            };
            let mut reading = tokio::task::spawn_blocking(move || {
                let line = typing.line(&prompt);
                (typing, line)
            });
            let read = loop {
                tokio::select! {
                    read = &mut reading => break read,
                    Some(answer) = wanted.recv() => {
                        // Who waited for it may have gone.
                        oneshot::Sender::send(answer, self.names().await).ok();
                    }
                }
            };
            let line;
            (typing, line) = read.map_err(|_panic| Failure::Panic)?;
            match line? {
                Line::End => break,
                Line::Interrupted => {}
                Line::Text(text) if text.trim().is_empty() => {}
                Line::Text(text) => match Typed::of(&text) {
                    Ok(Typed::Exit) => break,
                    Ok(typed) => self.obey(typed).await?,
                    Err(mistake) => {
                        self.say(&format!("{} {mistake}\n", self.paint.red("error:")))?
                    }
                },
            }
        }
        self.branches.close().await;
        Ok(())
    }

    /// What can be completed: what the code has defined, and usual words.
    async fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = WORDS.map(str::to_owned).into();
        if let Ok(session) = self.branches.session()
            && let Ok(told) = session.variables().await
        {
            let told = told.variables.into_iter().map(|variable| variable.name);
            names.extend(told.filter(|name| is_plain_name(name)));
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    async fn obey(&mut self, typed: Typed) -> Result<(), Failure> {
        match typed {
            Typed::Ask(Ask::Run(piece)) => self.run(*piece).await,
            Typed::Ask(ask) => {
                let done = done(&ask);
                match self.branches.ask(ask).await {
                    Ok(SessionAnswer::Done {}) => self.say(&done),
                    Ok(answer) => self.say(&answered(&answer, self.paint)),
                    Err(error) => {
                        Failure::from(error).report();
                        Ok(())
                    }
                }
            }
            Typed::Branches => {
                let current = self.branches.current();
                let line = |name: &str| {
                    let mark = if name == current { "*" } else { " " };
                    format!("{mark} {}\n", one_line(name))
                };
                self.say(&self.branches.names().into_iter().map(line).collect::<String>())
            }
            Typed::Usage => self.say(&self.usage()),
            Typed::Page => self.page(),
            Typed::Help | Typed::Exit => self.say(&help(self.paint)),
        }
    }

    async fn run(&mut self, piece: Piece) -> Result<(), Failure> {
        let code = piece.code.clone();
        let (sender, receiver) = mpsc::channel(16);
        // A thread of its own: a slow terminal must not hold up the deadline.
        let printer = tokio::task::spawn_blocking(|| print_chunks(receiver));
        let (stop, cancel) = oneshot::channel();
        let options = RunOptions {
            chunks: Some(sender),
            cancel: Some(cancel),
            artifacts: self.artifacts.clone(),
            ..RunOptions::default()
        };
        // One that came while nothing ran is not meant for this run.
        tokio::time::timeout(Duration::ZERO, self.interrupts.recv()).await.ok();
        let ran = {
            let mut running = std::pin::pin!(self.branches.session()?.run_with(piece, options));
            let mut stop = Some(stop);
            loop {
                tokio::select! {
                    ran = &mut running => break ran,
                    Some(()) = self.interrupts.recv() => {
                        if let Some(stop) = stop.take() {
                            // It may have ended at this moment.
                            stop.send(()).ok();
                        }
                    }
                }
            }
        };
        // A closed standard output is no reason to lose the outcome.
        printer.await.ok();
        match ran {
            Ok(reply) => self.show(code, reply),
            Err(error) => {
                Failure::from(error).report();
                Ok(())
            }
        }
    }

    fn show(&mut self, code: String, reply: Reply) -> Result<(), Failure> {
        let Reply { outcome, state, note } = reply;
        self.runs += 1;
        self.wall_ms += outcome.usage.wall_ms;
        self.cpu_ms += outcome.usage.cpu_ms;
        let mut text = told(&outcome)?;
        let words = match state {
            StateAfter::Kept => None,
            StateAfter::Restored => {
                Some(self.paint.yellow("the session is as it was before this run"))
            }
            StateAfter::Ended => Some(self.paint.red("the session has ended")),
        };
        if let Some(words) = words {
            let note = note.map_or(String::new(), |note| format!(": {}", one_line(&note)));
            text.push_str(&format!("{words}{note}\n"));
        }
        self.last = Some((code, outcome));
        self.say(&text)
    }

    fn usage(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let mut text = String::new();
        if let Some((_, outcome)) = &self.last {
            let used = &outcome.usage;
            text.push_str(&format!(
                "last run  {:.1} ms wall, {:.1} ms cpu, {:.1} MiB at its peak, {:.1} ms in the queue\n",
                used.wall_ms,
                used.cpu_ms,
                mib(used.peak_memory_bytes),
                used.queue_ms
            ));
        }
        let (runs, wall, cpu) = (self.runs, self.wall_ms, self.cpu_ms);
        let s = if runs == 1 { "" } else { "s" };
        text.push_str(&format!("{runs} run{s}    {wall:.1} ms wall, {cpu:.1} ms cpu\n"));
        let limits = &self.limits;
        text.push_str(&format!(
            "limits    {} ms wall for a run, {:.0} MiB for one branch, {:.0} MiB for the session, {} heads, {} min\n",
            limits.wall_ms,
            mib(limits.memory_bytes),
            mib(limits.session_memory_bytes),
            limits.heads,
            limits.lifetime_ms / 60_000
        ));
        text
    }

    fn page(&self) -> Result<(), Failure> {
        let Some((code, outcome)) = &self.last else {
            return self.say("nothing has run yet\n");
        };
        let page = open::write(code, outcome)?;
        let how = if open::open(&page) { "opened" } else { "not opened: there is no desktop" };
        let name = one_line(&page.display().to_string());
        self.say(&format!("{} {name} ({how})\n", self.paint.green("page:")))
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        let mut to = std::io::stderr();
        to.write_all(text.as_bytes()).map_err(Failure::os("write to standard error"))
    }
}

/// What is said when something that has no other answer is done. Which branch is worked in, the prompt shows.
fn done(ask: &Ask) -> String {
    let (done, name) = match ask {
        Ask::Checkpoint { name } => ("kept as", name),
        Ask::Rollback { name } => ("back at", name),
        Ask::Drop { name } => ("forgotten:", name),
        Ask::Close { name } => ("closed:", name),
        _ => return String::new(),
    };
    format!("{done} {}\n", one_line(name))
}

fn answered(answer: &SessionAnswer, paint: Paint) -> String {
    match answer {
        SessionAnswer::Done {} => String::new(),
        SessionAnswer::Checkpoints { names } if names.is_empty() => "nothing is kept\n".into(),
        SessionAnswer::Checkpoints { names } => {
            names.iter().map(|name| format!("{}\n", one_line(name))).collect()
        }
        SessionAnswer::Variables(told) if told.variables.is_empty() => {
            "nothing is defined\n".into()
        }
        SessionAnswer::Variables(told) => {
            let widest = told.variables.iter().map(|one| one.name.chars().count()).max();
            let width = widest.unwrap_or(0).min(30);
            let line = |one: &carboy_protocol::Variable| {
                let size = one.size.map_or(String::new(), |size| paint.dim(&format!("  {size}")));
                format!("{:<width$}  {}{size}\n", one_line(&one.name), one_line(&one.type_name))
            };
            let mut text: String = told.variables.iter().map(line).collect();
            if told.more > 0 {
                text.push_str(&format!("and {} more\n", told.more));
            }
            text
        }
    }
}

fn help(paint: Paint) -> String {
    let line = |(name, takes, what): &(&str, &str, &str)| {
        let command = format!("{name} {takes}");
        format!("{} {what}\n", paint.cyan(&format!("{command:<20}")))
    };
    let mut text: String = COMMANDS.iter().map(line).collect();
    text.push_str(
        "Ctrl-C interrupts a run and keeps the state from before it. Tab completes names.\n",
    );
    text
}
