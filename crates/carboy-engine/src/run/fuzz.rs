//! Any frame, any errno, any order of events: whatever a jar says and whatever the kernel counted, a run
//! has one outcome, and nothing panics. Cases come from a generator with a seed that a failure names.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use carboy_protocol::{FromJar, GuestError, JobFrame, Kind, LimitName, Limits, ProcessExit, frame};

use crate::facts::{Baseline, Ending, Exit, Facts, Refused, RefusedCall, Wanted};
use crate::run::speech::{Heard, Speech};
use crate::verdict::decide;

/// How many cases there are, unless `CARBOY_TEST_FUZZ_SECONDS` says how long to go on.
const CASES: u64 = 4_000;

/// Numbers that look random (SplitMix64).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    /// A number near something at which code might turn, or any.
    fn number(&mut self) -> u64 {
        match self.below(6) {
            0 => self.of(&[0, 1, u64::MAX, u64::MAX - 1, 1 << 63, i64::MAX as u64]),
            1 => 1 << self.below(64),
            2 => (1_u64 << self.below(64)).wrapping_sub(1),
            3 => self.below(5000) as u64,
            _ => self.next(),
        }
    }

    fn errno(&mut self) -> i32 {
        match self.below(4) {
            0 => self.of(&[0, -1, 4095, 4096, -4095, -4096, i32::MIN, i32::MAX]),
            1 => self.next() as i32,
            _ => self.of(&[1, 11, 12, 13, 24, 27, 28, 38, 122]),
        }
    }

    fn text(&mut self) -> String {
        let words = [
            "",
            "OSError",
            "MemoryError",
            "numpy.MemoryError",
            "SystemExit",
            "RuntimeError",
            "PermissionError",
            "can't start new thread",
            "Resource temporarily unavailable",
            "fork",
            "spawn",
            "\u{0}",
            "\u{1b}[2J",
            "\u{10ffff}",
            "\\",
            "\"",
            "LimitExceeded",
            "wall_ms",
        ];
        (0..self.below(4)).map(|_| self.of(&words)).collect()
    }
}

/// A JSON value.
fn value(chance: &mut Chance, depth: usize) -> String {
    let leaf = depth == 0 || chance.one_in(2);
    match chance.below(if leaf { 6 } else { 8 }) {
        0 => "null".into(),
        1 => format!("{}", chance.number() as i64),
        2 => chance
            .of(&[
                "1e308",
                "1e309",
                "-0",
                "0.1e-400",
                "179769313486231580793728971405303415e273",
                "01",
                "NaN",
            ])
            .into(),
        3 => serde_json::to_string(&chance.text()).unwrap(),
        4 => chance
            .of(&["\"\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\u0000\"", "\"", "tru", "[", "}"])
            .into(),
        5 => "[".repeat(chance.below(120)) + &"]".repeat(chance.below(120)),
        6 => {
            let all: Vec<String> = (0..chance.below(4)).map(|_| value(chance, depth - 1)).collect();
            format!("[{}]", all.join(","))
        }
        _ => {
            let key = serde_json::to_string(&chance.text()).unwrap();
            format!("{{{key}:{}}}", value(chance, depth - 1))
        }
    }
}

/// The fields of a failure, some of them missing, doubled or wrong.
fn failure(chance: &mut Chance) -> String {
    let mut fields = Vec::new();
    for name in
        ["type", "message", "traceback", "line", "errno", "callee", "exit", "refusal", "other"]
    {
        let wanted = match name {
            "type" | "message" => !chance.one_in(20),
            "other" => chance.one_in(40),
            _ => chance.one_in(2),
        };
        for _ in 0..if chance.one_in(50) { 2 } else { usize::from(wanted) } {
            let said = match name {
                _ if chance.one_in(30) => value(chance, 2),
                "line" => (chance.number() as u32).to_string(),
                "errno" => chance.errno().to_string(),
                "exit" => (chance.number() as u8).to_string(),
                "refusal" => r#"{"rule":"r","message":"m","instead":"i"}"#.into(),
                _ => serde_json::to_string(&chance.text()).unwrap(),
            };
            fields.push(format!("\"{name}\":{said}"));
        }
    }
    format!("{{{}}}", fields.join(","))
}

/// What a jar might say in one frame.
fn message(chance: &mut Chance) -> Vec<u8> {
    let text = match chance.below(9) {
        0 => format!(r#"{{"done":{{"result":{}}}}}"#, value(chance, 4)),
        1 => format!(
            r#"{{"done":{{"result":{},"type":{},"text":{},"note":{}}}}}"#,
            value(chance, 3),
            value(chance, 0),
            serde_json::to_string(&chance.text().repeat(chance.below(3000))).unwrap(),
            value(chance, 0)
        ),
        2 | 3 => format!(r#"{{"failed":{}}}"#, failure(chance)),
        4 => format!(
            r#"{{"bad_result":{{"fault":"{}","detail":{}}}}}"#,
            chance.of(&["not_json", "not_awaited", "not_finite", "not_text", "none"]),
            value(chance, 1)
        ),
        5 => chance
            .of(&[
                r#"{"ready":{}}"#,
                r#"{"done":{}}"#,
                "{}",
                "",
                r#"{"done":{"result":1},"ready":{}}"#,
            ])
            .into(),
        6 => format!(
            r#"{{"call":{{"call":{},"tool":{},"args":{},"kwargs":{}}}}}"#,
            chance.number(),
            serde_json::to_string(&chance.text()).unwrap(),
            value(chance, 2),
            value(chance, 2)
        ),
        7 => format!(
            r#"{{"display":{{"media_type":"{}","data":{}}}}}"#,
            chance.of(&["image/png", "text/html", "application/json", "text/javascript"]),
            value(chance, 3)
        ),
        _ => value(chance, 4),
    };
    let mut bytes = text.into_bytes();
    if chance.one_in(4) && !bytes.is_empty() {
        let at = chance.below(bytes.len());
        bytes[at] = chance.next() as u8;
    }
    bytes
}

/// Everything that a jar writes: frames, some with a length that is not so.
fn stream(chance: &mut Chance) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..chance.below(4) {
        let body = message(chance);
        match chance.below(12) {
            0 => bytes.extend((chance.number() as u32).to_be_bytes()),
            1 => bytes.extend(body.iter()),
            _ => bytes.extend(frame::encode(&body).unwrap()),
        }
    }
    if chance.one_in(6) {
        let keep = chance.below(bytes.len() + 1);
        bytes.truncate(keep);
    }
    bytes
}

fn limits(chance: &mut Chance) -> Limits {
    let mut limits = Limits::default();
    for name in LimitName::ALL {
        if chance.one_in(3) {
            let row = name.row();
            let value = chance.number().clamp(row.least, row.most);
            limits.set(*name, value);
        }
    }
    limits
}

fn facts(chance: &mut Chance) -> Facts {
    let optional = |chance: &mut Chance| (!chance.one_in(3)).then(|| chance.number());
    let exit = Exit {
        code: optional(chance).map(|code| code as i32),
        signal: optional(chance)
            .map(|signal| if signal % 2 == 0 { (signal % 70) as i32 } else { signal as i32 }),
        cpu_us: chance.number(),
        peak_memory_bytes: chance.number(),
    };
    Facts {
        exit,
        cpu_before_us: chance.number(),
        data_bytes: chance.number(),
        peak_address_bytes: chance.number(),
        held_bytes: 0,
        out_of_memory: chance.one_in(2),
        peak_resident_bytes: chance.number(),
        peak_file_bytes: chance.number(),
        peak_anonymous_bytes: chance.number(),
        open_descriptors: optional(chance),
        space_full: chance.one_in(2),
        files_full: chance.one_in(2),
        baseline: Baseline {
            data_bytes: chance.number(),
            address_bytes: chance.number(),
            anonymous_bytes: chance.number(),
            import_us: 0,
            threads: 0,
        },
    }
}

/// Refusals and grants in any order.
fn refused(chance: &mut Chance) -> Refused {
    let mut refused = Refused::default();
    for _ in 0..chance.below(5) {
        let wanted = match chance.below(4) {
            0 => Some(Wanted::Thread),
            1 => Some(Wanted::Process),
            2 => Some(Wanted::Memory(chance.number())),
            _ => None,
        };
        match wanted {
            Some(got) if chance.one_in(2) => refused.granted(got),
            _ => {
                let (errno, hint) = (chance.errno(), chance.text());
                refused.last = Some(RefusedCall { errno, hint, wanted });
            }
        }
    }
    refused
}

/// Reads what a jar wrote in pieces as they come, until something is the end.
async fn hear(chance: &mut Chance, limits: &Limits) -> Ending {
    let job = JobFrame {
        code: Default::default(),
        frames: Default::default(),
        inputs: Default::default(),
        environment: Default::default(),
        guard: None,
        tools: vec![],
        strict: chance.one_in(2),
        displays: Default::default(),
    };
    let mut speech = Speech::new(&carboy_protocol::ToJar::Job(job), vec![], limits).unwrap();
    let bytes = stream(chance);
    let mut rest = bytes.as_slice();
    loop {
        match chance.below(40) {
            0 => return Ending::Cancelled,
            1 => return Ending::Limit(chance.of(LimitName::ALL)),
            2 => return Ending::PipeClosed,
            _ => {}
        }
        let (piece, after) = rest.split_at(chance.below(rest.len() + 1));
        rest = after;
        if let Some(ending) = speech.feed(piece) {
            return ending;
        }
        while let Some(heard) = speech.next().await {
            if let Heard::Last(ending) = heard {
                return ending;
            }
        }
        if rest.is_empty() {
            return speech.finish();
        }
    }
}

/// One case: what is decided fits what is known.
async fn case(seed: u64) {
    let chance = &mut Chance(seed);
    let limits = limits(chance);
    let ending = hear(chance, &limits).await;
    let (facts, refused) = (facts(chance), refused(chance));
    let known = format!("{ending:?}");
    let (ended_on, is_done) = match &ending {
        Ending::Limit(name) => (Some(*name), false),
        ending => (None, matches!(ending, Ending::Said(FromJar::Done(_)))),
    };
    let error = match decide(ending, &facts, &refused, &limits) {
        Ok(result) => {
            assert!(is_done, "{known} was an answer");
            let bytes = result.result.map_or(0, |result| result.get().len() as u64);
            assert!(bytes <= limits.result_bytes, "a result of {bytes} bytes");
            return;
        }
        Err(error) => error,
    };
    assert!(!is_done, "{known} was no answer");
    assert_eq!(error.limit.is_some(), error.kind == Kind::Limit, "{known}: {error:?}");
    if let Some(hit) = &error.limit {
        assert_eq!(hit.allowed, limits.get(hit.name), "{known}");
        assert!(ended_on.is_none_or(|name| name == hit.name), "{known}: {error:?}");
    }
    assert_eq!(error.kind == Kind::Cancelled, known == "Cancelled", "{known}: {error:?}");
    if error.kind == Kind::Denied {
        let told = refused.last.is_some() || error.exit == Some(ProcessExit::Signal(31));
        assert!(told, "{known}: nothing was refused: {error:?}");
    }
    // What a caller is given can be written and read.
    let text = serde_json::to_string(&error).unwrap();
    let read: GuestError = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}

#[allow(
    clippy::print_stdout,
    reason = "whoever lets it go on for long wants to know how far it came"
)]
#[test]
fn any_frame_any_errno_and_any_order_of_events_has_one_outcome() {
    let seconds = std::env::var("CARBOY_TEST_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let first = std::env::var("CARBOY_TEST_FUZZ_SEED").ok().and_then(|text| text.parse().ok());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let started = Instant::now();
    let first: u64 = first.unwrap_or(0);
    for seed in first.. {
        let over = match seconds {
            None => seed - first >= CASES,
            Some(seconds) => started.elapsed() >= Duration::from_secs(seconds),
        };
        if over {
            println!("{} cases", seed - first);
            return;
        }
        let run = AssertUnwindSafe(|| runtime.block_on(case(seed)));
        if std::panic::catch_unwind(run).is_err() {
            panic!("failed with CARBOY_TEST_FUZZ_SEED={seed}");
        }
    }
}
