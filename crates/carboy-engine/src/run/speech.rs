//! The frames of a run: the job and answers to calls down, calls and the last word up.
//!
//! Every byte that comes up is the guest's. It is bounded and checked before anything is built from
//! it, and a length that is claimed is not believed.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use carboy_protocol::frame::{self, Decoder, FrameFault};
use carboy_protocol::json::{self, JsonFault, MAX_DEPTH};
use carboy_protocol::{Display, FromJar, GuestResult, LimitName, Limits, ToJar, check_display};
use rustix::io::Errno;
use serde_json::value::RawValue;
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::time::Instant as Moment;

use crate::error::{EngineError, While};
use crate::facts::Ending;
use crate::kernel::blocking::elsewhere;
use crate::runner::Call;

/// What a frame may carry beside a result: names, a message, a traceback.
const FRAME_ROOM: u64 = 64 << 10;
/// How many levels of JSON the message around a result has.
const AROUND: usize = 2;
/// How a frame with a result begins. Only a result has a depth that is a limit.
const RESULT: &[u8] = br#"{"done":{"result":"#;
/// How a frame with a display begins. What is wrong with one is no reason to end a run.
const DISPLAY: &[u8] = br#"{"display":{"#;
/// From this length on a frame is read on another thread: the guest decides how long it is, and the
/// engine's own thread is everybody's.
const LONG_FRAME: usize = 64 << 10;
/// How long a jar that closed its result pipe may take to end, before that is what it did.
const CLOSING: Duration = Duration::from_millis(100);

/// What a frame from a jar is.
pub(super) enum Heard {
    /// A call, after which the code goes on.
    Call(Call),
    /// A display, or why it cannot be kept; the code goes on.
    Display(Result<Display, String>),
    /// What the jar says that it left out of its displays.
    LeftOut(String),
    /// The end: the last frame, or something that is none.
    Last(Ending),
}

/// How large a result and a display may be.
#[derive(Clone, Copy)]
struct Bounds {
    bytes: u64,
    depth: u64,
    display_bytes: u64,
}

/// Both directions.
pub(super) struct Speech {
    bounds: Bounds,
    decoder: Decoder,
    /// How much came through the pipe for the result since the last call.
    said_bytes: u64,
    /// It claimed a frame that is longer than allowed.
    overlong: bool,
    /// Until when it may go on, after it closed the pipe for its result.
    closing: Option<Moment>,
    /// Frames that the jar has not read yet, and how much of the first it has.
    unread: VecDeque<Vec<u8>>,
    read: usize,
}

impl Speech {
    /// Begins with what the jar is owed of an earlier frame, if anything, and with the job, or whatever it is
    /// told.
    pub fn new(message: &ToJar, owed: Vec<u8>, limits: &Limits) -> Result<Speech, EngineError> {
        let display_bytes = if limits.displays == 0 { 0 } else { limits.display_bytes };
        let most = limits.result_bytes.max(display_bytes) + FRAME_ROOM;
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let body =
            serde_json::to_vec(message).map_err(io::Error::other).while_doing("write the job")?;
        let first = frame::encode(&body).map_err(io::Error::other).while_doing("frame the job")?;
        Ok(Speech {
            bounds: Bounds {
                bytes: limits.result_bytes,
                depth: limits.result_depth,
                display_bytes,
            },
            decoder: Decoder::new(most),
            said_bytes: 0,
            overlong: false,
            closing: None,
            unread: [owed, first].into_iter().filter(|frame| !frame.is_empty()).collect(),
            read: 0,
        })
    }

    /// How many frames the jar has not read yet.
    pub fn unread(&self) -> usize {
        self.unread.len()
    }

    /// Sends another frame down.
    pub fn say(&mut self, frame: Vec<u8>) {
        self.unread.push_back(frame);
    }

    /// Writes what is left of the first frame; waits for ever if there is none.
    pub async fn write(&self, pipe: &mut pipe::Sender) -> io::Result<usize> {
        match self.unread.front() {
            Some(frame) => pipe.write(&frame[self.read..]).await,
            None => std::future::pending().await,
        }
    }

    /// Writes as much as the pipe takes now.
    pub fn write_now(&mut self, pipe: &pipe::Sender) {
        while let Some(frame) = self.unread.front() {
            match rustix::io::write(pipe.as_fd(), &frame[self.read..]) {
                Err(Errno::AGAIN | Errno::INTR) => return,
                written => self.wrote(written.map_err(io::Error::from)),
            }
        }
    }

    /// So much of the first frame was written.
    pub fn wrote(&mut self, written: io::Result<usize>) {
        match written {
            Ok(count @ 1..) => {
                self.read += count;
                if self.unread.front().is_some_and(|frame| self.read >= frame.len()) {
                    self.unread.pop_front();
                    self.read = 0;
                }
            }
            // A jar that reads no more gets no more; the deadline sees to that.
            _ => {
                self.unread.clear();
                self.read = 0;
            }
        }
    }

    /// What the jar has not read of a frame whose beginning it has.
    pub fn owed(&self) -> Vec<u8> {
        let begun = self.unread.front().filter(|_| self.read > 0);
        begun.map_or(vec![], |frame| frame[self.read..].to_vec())
    }

    /// The pipe for the result is closed.
    pub fn close(&mut self) {
        self.closing = Some(Moment::now() + CLOSING);
    }

    /// When a jar that closed the pipe for its result is waited for no longer.
    pub fn closing(&self) -> Option<Moment> {
        self.closing
    }

    /// Takes a piece of what the jar says; an end if it is too much, or breaks a frame.
    pub fn feed(&mut self, piece: &[u8]) -> Option<Ending> {
        self.said_bytes += piece.len() as u64;
        match self.decoder.feed(piece).and_then(|()| self.lower()) {
            Ok(()) => None,
            // A claim is not a fact. It becomes one when that much has come.
            Err(FrameFault::TooLong { .. }) => {
                let too_much = self.said_bytes > self.bounds.bytes;
                self.overlong = true;
                too_much.then_some(Ending::Limit(LimitName::ResultBytes))
            }
            Err(fault) => Some(Ending::BrokenFrame(fault.to_string())),
        }
    }

    /// Only a display may be as long as a display: whatever else begins to come has the room of a result.
    fn lower(&mut self) -> Result<(), FrameFault> {
        let most = usize::try_from(self.bounds.bytes + FRAME_ROOM).unwrap_or(usize::MAX);
        match self.decoder.begun() {
            Some((claimed, body)) if claimed > most => {
                let is_display = DISPLAY.starts_with(&body[..body.len().min(DISPLAY.len())]);
                if is_display { Ok(()) } else { self.decoder.lower(most) }
            }
            _ => Ok(()),
        }
    }

    /// The next whole frame. If this is dropped before it is done, a frame is lost.
    pub async fn next(&mut self) -> Option<Heard> {
        let body = self.decoder.next()?;
        let bounds = self.bounds;
        let parsed = if body.len() < LONG_FRAME {
            parse(&body, bounds)
        } else {
            match elsewhere(move || parse(&body, bounds)).await {
                Some(parsed) => parsed,
                None => return Some(broken("nobody was left to read it")),
            }
        };
        Some(match parsed {
            Ok(Ok(FromJar::Call(call))) => {
                self.goes_on();
                Heard::Call(call)
            }
            Ok(Ok(FromJar::Display(display))) => {
                self.goes_on();
                Heard::Display(Ok(display))
            }
            Ok(Err(why)) => {
                self.goes_on();
                Heard::Display(Err(why))
            }
            Ok(Ok(FromJar::LeftOut { note })) => {
                self.goes_on();
                Heard::LeftOut(note)
            }
            Ok(Ok(FromJar::Ready {})) => broken("it said that it was ready"),
            Ok(_) if self.decoder.held() > 0 => broken("it said more after its last frame"),
            Ok(Ok(last)) => Heard::Last(Ending::Said(last)),
            Err(ending) => Heard::Last(ending),
        })
    }

    /// The frame was not the last one, and the next is measured by itself.
    fn goes_on(&mut self) {
        self.said_bytes = self.decoder.held() as u64;
    }

    /// What it means that nothing more comes.
    pub fn finish(&self) -> Ending {
        if self.overlong {
            return Ending::BrokenFrame("it claimed a frame longer than it sent".into());
        }
        match self.decoder.finish() {
            Ok(()) => Ending::Gone,
            Err(fault) => Ending::BrokenFrame(fault.to_string()),
        }
    }
}

fn broken(what: &str) -> Heard {
    Heard::Last(Ending::BrokenFrame(what.into()))
}

/// Checks a frame, and only then builds a message from it: one, or why a display is none.
fn parse(body: &[u8], bounds: Bounds) -> Result<Result<FromJar, String>, Ending> {
    let depth = match json::depth(body, MAX_DEPTH + AROUND) {
        Ok(depth) => depth as u64,
        Err(JsonFault::TooDeep) if body.starts_with(RESULT) => {
            return Err(Ending::Limit(LimitName::ResultDepth));
        }
        Err(fault @ (JsonFault::TooDeep | JsonFault::LongNumber | JsonFault::Infinite))
            if body.starts_with(DISPLAY) =>
        {
            return Ok(Err(fault.to_string()));
        }
        Err(fault) => return Err(Ending::BrokenFrame(fault.to_string())),
    };
    let message: FromJar = serde_json::from_slice(body)
        .map_err(|_| Ending::BrokenFrame("it is not a message that a jar may send".into()))?;
    match &message {
        FromJar::Done(answer) if length(&answer.result) > bounds.bytes => {
            Err(Ending::Limit(LimitName::ResultBytes))
        }
        FromJar::Done(_) if depth > bounds.depth + AROUND as u64 => {
            Err(Ending::Limit(LimitName::ResultDepth))
        }
        FromJar::Done(answer) if says_too_much(answer) => {
            Err(Ending::BrokenFrame("it said too much about its result".into()))
        }
        FromJar::Display(display) => match refused(display, bounds.display_bytes) {
            Some(why) => Ok(Err(why)),
            None => Ok(Ok(message)),
        },
        _ => Ok(Ok(message)),
    }
}

/// Why a display cannot be kept, if it cannot. Its length is looked at before its content.
fn refused(display: &Display, most: u64) -> Option<String> {
    let bytes = display.data.get().len() as u64;
    if bytes > most {
        return Some(format!("it has {bytes} bytes of JSON, and {most} are allowed"));
    }
    check_display(display).err().map(|fault| fault.to_string())
}

fn length(result: &Option<Box<RawValue>>) -> u64 {
    result.as_ref().map_or(0, |result| result.get().len() as u64)
}

fn says_too_much(answer: &GuestResult) -> bool {
    let words = [&answer.type_name, &answer.text, &answer.note];
    words.into_iter().flatten().any(|words| words.len() > GuestResult::MAX_WORDS)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use carboy_protocol::JobFrame;

    use super::*;

    fn speech(limits: &Limits) -> Speech {
        let job = JobFrame {
            code: std::sync::Arc::new("result = 1".into()),
            frames: BTreeMap::new(),
            inputs: BTreeMap::new(),
            environment: BTreeMap::new(),
            guard: None,
            tools: vec![],
            strict: false,
            displays: Default::default(),
        };
        Speech::new(&ToJar::Job(job), vec![], limits).unwrap()
    }

    fn framed(body: &str) -> Vec<u8> {
        frame::encode(body.as_bytes()).unwrap()
    }

    /// What a jar that says just this under these limits has said.
    async fn said(bytes: &[u8], limits: &Limits) -> Ending {
        let mut speech = speech(limits);
        if let Some(ending) = speech.feed(bytes) {
            return ending;
        }
        match speech.next().await {
            Some(Heard::Last(ending)) => ending,
            Some(_) => panic!("no end"),
            None => speech.finish(),
        }
    }

    fn assert_broken(ending: Ending, words: &str) {
        let Ending::BrokenFrame(what) = ending else { panic!("{ending:?}") };
        assert!(what.contains(words), "{what}");
    }

    fn assert_limit(ending: Ending, name: LimitName) {
        assert!(matches!(ending, Ending::Limit(found) if found == name), "{ending:?}");
    }

    #[tokio::test]
    async fn the_last_frame_is_the_last_thing_that_a_jar_says() {
        let limits = Limits::default();
        let done = framed(r#"{"done":{"result":7}}"#);
        assert!(matches!(said(&done, &limits).await, Ending::Said(FromJar::Done(_))));
        assert_broken(
            said(&[&done[..], b"x"].concat(), &limits).await,
            "more after its last frame",
        );
        assert_broken(
            said(&[&done[..], &done[..]].concat(), &limits).await,
            "more after its last frame",
        );
        assert_broken(said(&done[..done.len() - 1], &limits).await, "");
        assert_broken(said(&framed(r#"{"ready":{}}"#), &limits).await, "ready");
        assert_broken(said(&framed(r#"{"outcome":{}}"#), &limits).await, "not a message");
        assert_broken(said(&framed("{"), &limits).await, "");
        assert!(matches!(said(&[], &limits).await, Ending::Gone));
    }

    #[tokio::test]
    async fn a_call_is_no_end_and_the_next_frame_is_measured_by_itself() {
        let mut speech = speech(&Limits { result_bytes: 64, ..Limits::default() });
        let call = framed(r#"{"call":{"call":1,"tool":"t","args":["0123456789"],"kwargs":{}}}"#);
        for _ in 0..10 {
            assert!(speech.feed(&call).is_none());
            assert!(matches!(speech.next().await, Some(Heard::Call(_))));
        }
        assert!(speech.next().await.is_none());
        assert!(matches!(speech.finish(), Ending::Gone));
    }

    #[tokio::test]
    async fn a_result_that_is_too_large_or_too_deep_is_a_limit_and_a_claim_is_not() {
        let limits = Limits { result_bytes: 10, result_depth: 2, ..Limits::default() };
        let done = |result: &str| framed(&format!(r#"{{"done":{{"result":{result}}}}}"#));
        assert!(matches!(said(&done("1234567890"), &limits).await, Ending::Said(_)));
        assert_limit(said(&done("12345678901"), &limits).await, LimitName::ResultBytes);
        assert!(matches!(said(&done("[[]]"), &limits).await, Ending::Said(_)));
        assert_limit(said(&done("[[[]]]"), &limits).await, LimitName::ResultDepth);
        let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
        assert_limit(said(&done(&deep), &Limits::default()).await, LimitName::ResultDepth);
        let deep = "[".repeat(MAX_DEPTH + AROUND + 1);
        assert_broken(said(&framed(&deep), &Limits::default()).await, "");
        let words = format!(r#"{{"done":{{"text":"{}"}}}}"#, "x".repeat(GuestResult::MAX_WORDS));
        assert!(matches!(said(&framed(&words), &limits).await, Ending::Said(_)));
        assert_broken(said(&framed(&words.replace("xx", "xxx")), &limits).await, "too much");
        // Room for a display is room for nothing else, and none of it is kept.
        let roomy = Limits { displays: 1, display_bytes: 4 << 20, ..limits.clone() };
        let mut speech = speech(&roomy);
        let long = done(&format!("\"{}\"", "x".repeat(1 << 20)));
        let ended = long.chunks(8 << 10).find_map(|piece| speech.feed(piece));
        assert_limit(ended.unwrap(), LimitName::ResultBytes);
        assert!(speech.decoder.held() < 64);
        // Four bytes that claim more than is allowed are no result yet.
        let mut claim = u32::MAX.to_be_bytes().to_vec();
        assert_broken(said(&claim, &limits).await, "longer than it sent");
        claim.extend([0; 10]);
        assert_limit(said(&claim, &limits).await, LimitName::ResultBytes);
    }

    /// What becomes of one display under these limits.
    async fn shown(display: &str, limits: &Limits) -> Result<Display, String> {
        let mut speech = speech(limits);
        assert!(speech.feed(&framed(&format!(r#"{{"display":{display}}}"#))).is_none());
        match speech.next().await {
            Some(Heard::Display(shown)) => shown,
            Some(Heard::Last(ending)) => Err(format!("{ending:?}")),
            _ => panic!("no display"),
        }
    }

    #[tokio::test]
    async fn a_display_is_checked_and_one_that_cannot_be_kept_is_no_end() {
        let limits = Limits { result_bytes: 16, display_bytes: 200, ..Limits::default() };
        let html = r#"{"media_type":"text/html","data":"<b>"}"#;
        assert_eq!(shown(html, &limits).await.unwrap().data.get(), "\"<b>\"");
        let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
        for (media_type, data, why) in [
            ("text/html", format!("\"{}\"", "x".repeat(199)), "201 bytes"),
            ("text/html", "7".into(), "not text"),
            ("image/png", "\"####\"".into(), "not base64"),
            ("image/png", "\"/9j/\"".into(), "not of its media type"),
            ("application/json", deep, "too deep"),
            ("application/json", "1e999".into(), "too large"),
            // Those that a jar of ours cannot send.
            ("application/json", "NaN".into(), "BrokenFrame"),
            ("text/javascript", "\"\"".into(), "BrokenFrame"),
            ("text/html", "\"\",\"trusted\":true".into(), "BrokenFrame"),
            ("text/html", "\"\\ud800\"".into(), "BrokenFrame"),
        ] {
            let display = format!(r#"{{"media_type":"{media_type}","data":{data}}}"#);
            let found = shown(&display, &limits).await.unwrap_err();
            assert!(found.contains(why), "{display}: {found}");
        }
        // However many there are, the result is measured by itself.
        let mut speech = speech(&limits);
        for _ in 0..20 {
            assert!(speech.feed(&framed(&format!(r#"{{"display":{html}}}"#))).is_none());
            assert!(matches!(speech.next().await, Some(Heard::Display(Ok(_)))));
        }
        assert!(speech.feed(&framed(r#"{"left_out":{"note":"one"}}"#)).is_none());
        assert!(matches!(speech.next().await, Some(Heard::LeftOut(_))));
        assert!(speech.feed(&framed(r#"{"done":{"result":7}}"#)).is_none());
        assert!(matches!(speech.next().await, Some(Heard::Last(Ending::Said(_)))));
        let done = framed(r#"{"done":{}}"#);
        let after = framed(&format!(r#"{{"display":{html}}}"#));
        assert_broken(said(&[done, after].concat(), &limits).await, "more after its last frame");
    }

    #[test]
    fn frames_go_down_in_pieces_until_the_jar_reads_no_more() {
        let mut speech = speech(&Limits::default());
        let first = speech.unread.front().unwrap().len();
        speech.say(framed("{}"));
        speech.wrote(Ok(first - 1));
        assert_eq!(speech.unread(), 2);
        speech.wrote(Ok(1));
        assert_eq!((speech.unread(), speech.read), (1, 0));
        speech.wrote(Err(io::Error::other("closed")));
        assert_eq!(speech.unread(), 0);
    }
}
