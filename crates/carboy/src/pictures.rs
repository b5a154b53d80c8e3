//! Pictures on terminals that can show them.
//!
//! Which one can is known by its own environment variables: asking a terminal would mean to read from it.
//! What is sent between the terminal's marks is base64 and nothing else, so a guest's picture cannot say
//! anything to the terminal. Behind a multiplexer nothing is sent.

use std::io::{IsTerminal, Write};

use carboy_protocol::{Display, MediaType};

/// How much of a picture the kitty protocol takes at once.
const PIECE: usize = 4096;

/// How a terminal is shown a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pictures {
    /// The graphics protocol of kitty, in PNG.
    Kitty,
    /// The inline files of iTerm2.
    Iterm,
}

impl Pictures {
    /// What standard output can show; nothing if it is no terminal.
    pub fn of_stdout() -> Option<Pictures> {
        let known = |name: &str| std::env::var(name).ok();
        std::io::stdout().is_terminal().then(|| Pictures::known(known)).flatten()
    }

    fn known(variable: impl Fn(&str) -> Option<String>) -> Option<Pictures> {
        let is = |name: &str, value: &str| variable(name).is_some_and(|found| found == value);
        let is_set = |name: &str| variable(name).is_some_and(|found| !found.is_empty());
        if is_set("TMUX") || is_set("STY") || is("TERM", "dumb") {
            return None;
        }
        if is("TERM", "xterm-kitty") || is("TERM", "xterm-ghostty") || is_set("KITTY_WINDOW_ID") {
            return Some(Pictures::Kitty);
        }
        let iterm = is("TERM_PROGRAM", "iTerm.app")
            || is("TERM_PROGRAM", "WezTerm")
            || is("LC_TERMINAL", "iTerm2");
        iterm.then_some(Pictures::Iterm)
    }

    /// What to send to the terminal, if it can show this.
    fn sequence(self, display: &Display) -> Option<String> {
        let can = match self {
            Pictures::Kitty => display.media_type == MediaType::Png,
            Pictures::Iterm => {
                matches!(display.media_type, MediaType::Png | MediaType::Jpeg | MediaType::Gif)
            }
        };
        let data = display.text().filter(|_| can)?;
        let is_base64 =
            data.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        if !is_base64 {
            return None;
        }
        Some(match self {
            Pictures::Kitty => kitty(&data),
            Pictures::Iterm => format!("\x1b]1337;File=inline=1:{data}\x07\n"),
        })
    }

    /// Shows a picture. Whether it did.
    pub fn show(self, display: &Display) -> bool {
        let Some(sequence) = self.sequence(display) else { return false };
        let mut stdout = std::io::stdout();
        stdout.write_all(sequence.as_bytes()).and_then(|()| stdout.flush()).is_ok()
    }
}

/// A picture in pieces. The first says what it is, each whether more come.
fn kitty(data: &str) -> String {
    let mut sequence = String::with_capacity(data.len() + data.len() / 64);
    let mut rest = data;
    let mut what = "f=100,a=T,";
    loop {
        let (piece, after) = rest.split_at(PIECE.min(rest.len()));
        let more = u8::from(!after.is_empty());
        sequence.push_str(&format!("\x1b_G{what}m={more};{piece}\x1b\\"));
        if after.is_empty() {
            sequence.push('\n');
            return sequence;
        }
        (rest, what) = (after, "");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn known(variables: &[(&str, &str)]) -> Option<Pictures> {
        Pictures::known(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into())
        })
    }

    fn display(media_type: MediaType, data: &str) -> Display {
        let data = RawValue::from_string(serde_json::to_string(data).unwrap()).unwrap();
        Display { media_type, data }
    }

    #[test]
    fn terminals_are_known_by_what_they_say_of_themselves() {
        assert_eq!(known(&[("TERM", "xterm-kitty")]), Some(Pictures::Kitty));
        assert_eq!(known(&[("TERM_PROGRAM", "iTerm.app")]), Some(Pictures::Iterm));
        assert_eq!(known(&[("TERM", "xterm-256color")]), None);
        assert_eq!(known(&[]), None);
        assert_eq!(known(&[("TERM", "xterm-kitty"), ("TMUX", "/tmp/tmux")]), None);
    }

    #[test]
    fn a_picture_is_sent_in_pieces_and_is_only_base64() {
        let long = "A".repeat(PIECE + 4);
        let sent = Pictures::Kitty.sequence(&display(MediaType::Png, &long)).unwrap();
        let pieces: Vec<&str> = sent.trim_end().split_terminator("\x1b\\").collect();
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[0], format!("\x1b_Gf=100,a=T,m=1;{}", "A".repeat(PIECE)));
        assert_eq!(pieces[1], "\x1b_Gm=0;AAAA");
        for hostile in ["AAAA\x1b\\\x1b]0;owned\x07", "AA AA", "é"] {
            assert_eq!(Pictures::Kitty.sequence(&display(MediaType::Png, hostile)), None);
            assert_eq!(Pictures::Iterm.sequence(&display(MediaType::Png, hostile)), None);
        }
        assert_eq!(Pictures::Kitty.sequence(&display(MediaType::Jpeg, "AAAA")), None);
        assert_eq!(Pictures::Iterm.sequence(&display(MediaType::Html, "AAAA")), None);
    }
}
