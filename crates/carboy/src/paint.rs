//! Colours and progress for people: on a terminal, and nowhere else.

use std::io::{IsTerminal, Write};

/// Whether to colour what goes to one stream.
#[derive(Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    /// For standard error.
    pub fn stderr() -> Paint {
        Paint(wanted() && std::io::stderr().is_terminal())
    }

    /// For standard output.
    pub fn stdout() -> Paint {
        Paint(wanted() && std::io::stdout().is_terminal())
    }

    /// For tests.
    #[cfg(test)]
    pub fn none() -> Paint {
        Paint(false)
    }

    fn code(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// Something went wrong.
    pub fn red(self, text: &str) -> String {
        self.code("1;31", text)
    }

    /// Something is well.
    pub fn green(self, text: &str) -> String {
        self.code("32", text)
    }

    /// Something wants attention.
    pub fn yellow(self, text: &str) -> String {
        self.code("33", text)
    }

    /// A way out.
    pub fn cyan(self, text: &str) -> String {
        self.code("36", text)
    }

    /// Less important.
    pub fn dim(self, text: &str) -> String {
        self.code("2", text)
    }

    /// A heading.
    pub fn bold(self, text: &str) -> String {
        self.code("1", text)
    }
}

/// Writes over the line that a terminal shows. An empty text removes it.
pub fn progress(text: &str) {
    let mut to = std::io::stderr();
    // Nothing depends on whether somebody reads it.
    drop(write!(to, "\r{text}\x1b[K").and_then(|()| to.flush()));
}

/// The convention of <https://no-color.org>, and terminals that cannot.
fn wanted() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
