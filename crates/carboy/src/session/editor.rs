//! The line that a person types on: its history, its completion, and when it is continued on another.

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{
    Cmd, CompletionType, ConditionalEventHandler, Config, Context, Editor, Event, EventContext,
    EventHandler, Helper, KeyCode, KeyEvent, Modifiers, RepeatCount,
};
use tokio::sync::{mpsc, oneshot};

use super::ask::COMMANDS;
use super::incomplete::{indentation, is_incomplete};
use crate::failure::Failure;
use crate::paint::Paint;

/// How many lines of history are kept.
const HISTORY: usize = 10_000;

/// Asks for the names that can be completed. Whoever holds the session answers.
pub type Names = mpsc::Sender<oneshot::Sender<Vec<String>>>;

/// A line to type on.
pub struct Typing {
    editor: Editor<Help, FileHistory>,
    history: Option<PathBuf>,
}

/// What was done with it.
pub enum Line {
    /// This was typed.
    Text(String),
    /// It was given up; there is another.
    Interrupted,
    /// Nothing more will be typed.
    End,
}

impl Typing {
    /// An empty line. What was typed before is read from `history`, and what is typed is added to it.
    pub fn new(history: Option<PathBuf>, names: Names) -> Result<Typing, Failure> {
        let builder = Config::builder().completion_type(CompletionType::List);
        let builder = builder.max_history_size(HISTORY).and_then(|b| b.history_ignore_dups(true));
        let config = builder.map_err(failure)?.history_ignore_space(true).build();
        let mut editor = Editor::with_config(config).map_err(failure)?;
        editor.set_helper(Some(Help { names, paint: Paint::stdout() }));
        let enter = KeyEvent(KeyCode::Enter, Modifiers::NONE);
        editor.bind_sequence(enter, EventHandler::Conditional(Box::new(Enter)));
        let history = history.filter(|file| made(file));
        if let Some(file) = &history {
            // One that cannot be read is one without entries.
            editor.load_history(file).ok();
        }
        Ok(Typing { editor, history })
    }

    /// Waits for what is typed. Blocks.
    pub fn line(&mut self, prompt: &str) -> Result<Line, Failure> {
        match self.editor.readline(prompt) {
            Ok(text) => {
                self.remember(&text);
                Ok(Line::Text(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Line::Interrupted),
            Err(ReadlineError::Eof) => Ok(Line::End),
            Err(error) => Err(failure(error)),
        }
    }

    /// Adds it to the history, at once: the program may be killed. A history that cannot be written is no
    /// reason to stop.
    fn remember(&mut self, text: &str) {
        let text = text.trim_end();
        if !text.is_empty()
            && self.editor.add_history_entry(text).is_ok()
            && let Some(file) = &self.history
        {
            self.editor.append_history(file).ok();
        }
    }
}

fn failure(error: ReadlineError) -> Failure {
    Failure::os("read from the terminal")(std::io::Error::other(error))
}

/// Whether there is a file for the history, which only its user can read.
fn made(file: &Path) -> bool {
    file.parent().is_some_and(|folder| std::fs::create_dir_all(folder).is_ok())
        && OpenOptions::new().append(true).create(true).mode(0o600).open(file).is_ok()
}

/// What Enter does: goes on below, as far in as it belongs, while the code is incomplete.
struct Enter;

impl ConditionalEventHandler for Enter {
    fn handle(
        &self,
        _event: &Event,
        _count: RepeatCount,
        _positive: bool,
        context: &EventContext<'_>,
    ) -> Option<Cmd> {
        let line = context.line();
        let goes_on = context.pos() == line.len() && !is_command(line) && is_incomplete(line);
        goes_on.then(|| Cmd::Insert(1, format!("\n{}", indentation(line))))
    }
}

fn is_command(line: &str) -> bool {
    line.trim_start().starts_with('%')
}

/// What the editor asks while somebody types.
struct Help {
    names: Names,
    paint: Paint,
}

impl Help {
    /// The names that the code has defined. The line waits for them.
    fn names(&self) -> Vec<String> {
        let (sender, receiver) = oneshot::channel();
        if self.names.blocking_send(sender).is_err() {
            return vec![];
        }
        receiver.blocking_recv().unwrap_or_default()
    }
}

impl Completer for Help {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        position: usize,
        _context: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        let before = &line[..position];
        if is_command(before) && !before.trim_start().contains(char::is_whitespace) {
            let start = position - before.trim_start().len();
            let commands = COMMANDS.iter().map(|(name, ..)| (*name).to_owned());
            return Ok((
                start,
                commands.filter(|name| name.starts_with(&before[start..])).collect(),
            ));
        }
        let is_part = |char: char| char.is_alphanumeric() || char == '_';
        let start = before.trim_end_matches(is_part).len();
        let word = &before[start..];
        if word.is_empty() {
            // At the start of a line the key indents.
            let is_blank = before.rsplit('\n').next().is_some_and(|line| line.trim().is_empty());
            return Ok((position, if is_blank { vec!["    ".into()] } else { vec![] }));
        }
        if before[..start].ends_with('.') {
            return Ok((start, vec![]));
        }
        let names = self.names().into_iter().filter(|name| name.starts_with(word));
        Ok((start, names.collect()))
    }
}

impl Hinter for Help {
    type Hint = String;
}

impl Highlighter for Help {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(
        &'s self,
        prompt: &'p str,
        _default: bool,
    ) -> Cow<'b, str> {
        Cow::Owned(self.paint.green(prompt))
    }
}

impl Validator for Help {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let line = context.input();
        Ok(if !is_command(line) && is_incomplete(line) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Helper for Help {}
