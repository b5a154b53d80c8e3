//! What a run shows, as far as the outcome has room for it.
//!
//! The jar keeps to the same bounds and says itself what it left out, so one that sends more than it may
//! is not the jar that was started. What is sent and cannot be kept is left out, and the run goes on.

use carboy_protocol::{Display, DisplayFrame, LimitName, Limits, Policy};

use crate::facts::Ending;

/// How long the jar's own note may be. A jar that means well stays far below.
const MAX_NOTE: usize = 4_000;

/// What a jar may show under a policy.
pub(crate) fn frame(policy: &Policy) -> DisplayFrame {
    let limits = &policy.limits;
    DisplayFrame {
        most: limits.displays,
        bytes: limits.display_bytes,
        total_bytes: limits.display_total_bytes,
        drawing: policy.drawing,
    }
}

/// The displays of one run.
pub(super) struct Displays<'a> {
    limits: &'a Limits,
    bytes_left: u64,
    sent: u64,
    kept: Vec<Display>,
    /// The first thing that was left out here, and why.
    note: Option<String>,
    /// What the jar says that it left out.
    said: Option<String>,
}

impl<'a> Displays<'a> {
    pub fn new(limits: &'a Limits) -> Displays<'a> {
        let bytes_left = limits.display_total_bytes;
        Displays { limits, bytes_left, sent: 0, kept: vec![], note: None, said: None }
    }

    /// Takes a display, or what is wrong with one; an end if there may not be another.
    pub fn take(&mut self, display: Result<Display, String>) -> Option<Ending> {
        self.sent += 1;
        if self.sent > self.limits.displays {
            return Some(Ending::BrokenFrame("it sent more displays than it may".into()));
        }
        match display {
            Ok(display) => match self.bytes_left.checked_sub(display.data.get().len() as u64) {
                Some(left) => {
                    self.bytes_left = left;
                    self.kept.push(display);
                }
                None => {
                    let name = LimitName::DisplayTotalBytes;
                    self.leave_out(name.row().crossed(self.limits.get(name)));
                }
            },
            Err(why) => self.leave_out(format!("a display was left out: {why}")),
        }
        None
    }

    /// Takes what the jar says that it left out; an end if it said so before.
    pub fn left_out(&mut self, note: String) -> Option<Ending> {
        if self.said.is_some() || note.len() > MAX_NOTE {
            return Some(Ending::BrokenFrame("it said too much about its displays".into()));
        }
        self.said = Some(note);
        None
    }

    fn leave_out(&mut self, note: String) {
        self.note.get_or_insert(note);
    }

    /// What was shown, and what of it is not there.
    pub fn shown(self) -> (Vec<Display>, Option<String>) {
        let notes: Vec<String> = self.note.into_iter().chain(self.said).collect();
        (self.kept, (!notes.is_empty()).then(|| notes.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use carboy_protocol::MediaType;
    use serde_json::value::RawValue;

    use super::*;

    fn plain(length: usize) -> Result<Display, String> {
        let data = RawValue::from_string(format!("\"{}\"", "x".repeat(length - 2))).unwrap();
        Ok(Display { media_type: MediaType::Plain, data })
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_what_comes_after_it_may_fit() {
        let limits = Limits { display_total_bytes: 100, ..Limits::default() };
        let mut displays = Displays::new(&limits);
        for length in [60, 41, 40] {
            assert!(displays.take(plain(length)).is_none());
        }
        assert!(displays.take(Err("it nests too deep".into())).is_none());
        assert!(displays.left_out("one more".into()).is_none());
        let (kept, note) = displays.shown();
        let lengths: Vec<usize> = kept.iter().map(|display| display.data.get().len()).collect();
        assert_eq!(lengths, [60, 40]);
        let note = note.unwrap();
        assert!(note.starts_with("displays had more than 100 bytes"), "{note}");
        assert!(note.ends_with("; one more"), "{note}");
    }

    #[test]
    fn a_jar_that_sends_more_than_it_may_is_broken() {
        let limits = Limits { displays: 2, ..Limits::default() };
        let mut displays = Displays::new(&limits);
        assert!(displays.take(plain(10)).is_none());
        assert!(displays.take(Err("wrong".into())).is_none());
        assert!(matches!(displays.take(plain(10)), Some(Ending::BrokenFrame(_))));
        assert!(displays.left_out("a".into()).is_none());
        assert!(matches!(displays.left_out("b".into()), Some(Ending::BrokenFrame(_))));
        let mut displays = Displays::new(&limits);
        let long = "x".repeat(MAX_NOTE + 1);
        assert!(matches!(displays.left_out(long), Some(Ending::BrokenFrame(_))));
    }
}
