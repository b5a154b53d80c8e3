//! What came of a call, for a model to read.
//!
//! The first block is carboy's own words. What the guest wrote follows in frames, pictures as images.

use carboy_protocol::pipe::RunFailure;
use carboy_protocol::{
    Artifact, Denial, Display, GuestError, MediaType, Outcome, StateAfter, Status, Written,
};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::shelf::Kept;
use super::text::{Frame, MOST, bounded, one_line, plain};

/// The most denials and files that are listed.
const LISTED: usize = 30;

/// The most bytes of pictures in one answer, as base64.
const PICTURE_BYTES: usize = 8 << 20;

/// The most bytes of a file that is neither text nor a picture.
const BLOB_BYTES: usize = 1 << 20;

/// The most bytes of a sentence in which a guest's word may stand.
const SENTENCE: usize = 2_000;

/// What was done, in a sentence.
pub(super) fn done(sentence: String) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(sentence)])
}

/// Why nothing was run.
pub(super) fn refused(failure: &RunFailure) -> CallToolResult {
    let mut text = format!("error: {}", sentence(&failure.message));
    for cause in &failure.causes {
        text += &format!("\n  cause: {}", sentence(cause));
    }
    if let Some(hint) = &failure.hint {
        text += &format!("\nhint: {}", sentence(hint));
    }
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// A mistake in how a tool was called.
pub(super) fn mistaken(message: &str, hint: &str) -> CallToolResult {
    let text = format!("error: {}\nhint: {hint}", sentence(message));
    CallToolResult::error(vec![ContentBlock::text(text)])
}

/// What came of a run, in a session or in a jar of its own.
pub(super) fn of(outcome: &Outcome, session: Option<(StateAfter, Option<&str>)>) -> CallToolResult {
    let frame = match Frame::draw() {
        Ok(frame) => frame,
        Err(error) => return refused(&error.failure()),
    };
    let mut content = vec![ContentBlock::text(head(outcome, session.map(|(state, _)| state)))];
    let mut show = |what: &str, text: &str| {
        if !text.is_empty() {
            content.push(ContentBlock::text(frame.around(what, text)));
        }
    };
    if let Some(error) = &outcome.error
        && error.limit.is_none()
    {
        show("the program's error", error.traceback.as_ref().unwrap_or(&error.message));
    }
    show("what was refused", &refusals(outcome));
    let kind = outcome.result_type.as_deref().and_then(plain);
    let what = kind.map_or_else(|| RESULT.into(), |kind| format!("{RESULT}, of type {kind}"));
    match (&outcome.result_text, &outcome.result) {
        (Some(text), _) => show(&what, text),
        (None, Some(json)) => show(&what, json.get()),
        (None, None) => {}
    }
    show("the program's standard output", &outcome.stdout.text);
    show("the program's standard error", &outcome.stderr.text);
    show(&files_of(&outcome.id), &listed(&outcome.artifacts));
    show("notes", &notes(outcome, session.and_then(|(_, note)| note)));
    displays(&outcome.displays, &frame, &mut content);
    match outcome.status {
        Status::Ok => CallToolResult::success(content),
        Status::Error => CallToolResult::error(content),
    }
}

const RESULT: &str = "the program's result";

/// carboy's own words about a run. Nothing that a guest chose is in them but a name of a type, and that only if it
/// is a plain one.
fn head(outcome: &Outcome, session: Option<StateAfter>) -> String {
    let usage = format!("{:.0} ms, run {}", outcome.usage.wall_ms, outcome.id);
    let mut lines = match &outcome.error {
        None => vec![format!("ok: the code ran to its end ({usage})")],
        Some(error) => failed(error, &usage),
    };
    lines.extend(session.map(|state| match state {
        StateAfter::Kept => "session: it goes on from where the code got to".into(),
        StateAfter::Restored => "session: its variables are what they were before this run".into(),
        StateAfter::Ended => "session: it is over; open another".into(),
    }));
    lines.join("\n")
}

fn failed(error: &GuestError, usage: &str) -> Vec<String> {
    let line = error.line.map_or_else(String::new, |line| format!(" at line {line}"));
    let kind = error.kind.as_str();
    let name = plain(&error.type_name).map_or_else(String::new, |name| format!(", {name}"));
    let mut lines = vec![format!("error: {kind}{name}{line} ({usage})")];
    lines.extend(error.limit.iter().map(|limit| limit.name.row().crossed(limit.allowed)));
    lines.extend(error.hint.iter().map(|hint| format!("hint: {}", sentence(hint))));
    let operator = error.operator_hint.iter();
    lines.extend(
        operator.map(|hint| format!("hint for whoever sets the policy: {}", sentence(hint))),
    );
    lines
}

/// What layers refused, a line for each. The names among it may be the code's.
fn refusals(outcome: &Outcome) -> String {
    let denials = &outcome.denials;
    let mut lines: Vec<_> = denials.iter().take(LISTED).map(refusal).collect();
    lines.extend(more(denials.len()));
    lines.join("\n")
}

fn refusal(denial: &Denial) -> String {
    let line = denial.line.map_or_else(String::new, |line| format!("line {line}: "));
    let what = denial.message.as_ref().unwrap_or(&denial.what);
    let instead = denial.instead.as_ref().unwrap_or(&denial.hint);
    format!("- {line}{}, {} times; {}", sentence(what), denial.count, sentence(instead))
}

/// What else there is to know, in part in the guest's words.
fn notes(outcome: &Outcome, of_session: Option<&str>) -> String {
    let notes = [outcome.result_note.as_deref(), outcome.display_note.as_deref(), of_session];
    let mut lines: Vec<_> = notes.into_iter().flatten().map(sentence).collect();
    for left_out in &outcome.artifacts_left_out {
        let first = left_out.paths.first().map_or_else(String::new, |path| format!(" ({path})"));
        lines.push(sentence(&format!(
            "{} files{first} are not kept: {}",
            left_out.count, left_out.message
        )));
    }
    lines.join("\n")
}

fn files_of(run: &str) -> String {
    format!("the program's files, for read_file with run \"{run}\"")
}

/// Files, a line for each. Their names are the guest's.
fn listed(files: &[Artifact]) -> String {
    let file = |file: &Artifact| {
        let kind = file.media_type.as_ref().map_or_else(String::new, |kind| format!(", {kind}"));
        format!("- {} ({} bytes{kind})", sentence(&file.path), file.bytes)
    };
    let mut lines: Vec<_> = files.iter().take(LISTED).map(file).collect();
    lines.extend(more(files.len()));
    lines.join("\n")
}

fn more(count: usize) -> Option<String> {
    (count > LISTED).then(|| format!("- and {} more", count - LISTED))
}

/// The files of a run.
pub(super) fn files(run: &str, files: &[Artifact]) -> CallToolResult {
    match Frame::draw() {
        Ok(frame) => done(frame.around(&files_of(run), &listed(files))),
        Err(error) => refused(&error.failure()),
    }
}

fn displays(displays: &[Display], frame: &Frame, content: &mut Vec<ContentBlock>) {
    let mut room = PICTURE_BYTES;
    for display in displays {
        let kind = display.media_type;
        let word = kind.as_str();
        let text = match kind {
            MediaType::Png | MediaType::Jpeg | MediaType::Gif => {
                if let Some(data) = display.text().filter(|data| data.len() <= room) {
                    room -= data.len();
                    content.push(ContentBlock::image(data, word));
                    continue;
                }
                format!(
                    "note: an {word} that the program showed is left out: the pictures are too large together"
                )
            }
            _ if kind.written() == Written::Text => frame.around(
                &format!("{word} that the program showed"),
                &display.text().unwrap_or_default(),
            ),
            _ => format!(
                "note: the program showed {word} of {} bytes, which is not passed on; as a picture or text it would be",
                display.data.get().len()
            ),
        };
        content.push(ContentBlock::text(text));
    }
}

/// A part of a file, from a byte on.
pub(super) fn file(run: &str, kept: &Kept, offset: u64) -> CallToolResult {
    let (artifact, bytes) = (&kept.artifact, &kept.content[..]);
    let kind = artifact.media_type.as_deref().unwrap_or("application/octet-stream");
    let base64 = carboy_protocol::base64::encode;
    if matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp") {
        if bytes.len() > PICTURE_BYTES / 4 * 3 {
            return mistaken(
                &format!(
                    "it is a picture of {} bytes, which is too large to be returned",
                    bytes.len()
                ),
                "write a smaller one",
            );
        }
        return CallToolResult::success(vec![ContentBlock::image(base64(bytes), kind)]);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX).min(text.len());
        let start = text.floor_char_boundary(start);
        let end = text.floor_char_boundary((start + MOST).min(text.len()));
        let next = if end < text.len() {
            format!("; the next part is at offset {end}")
        } else {
            String::new()
        };
        let head = format!("bytes {start} to {end} of {}{next}", text.len());
        return match Frame::draw() {
            Ok(frame) => CallToolResult::success(vec![
                ContentBlock::text(head),
                ContentBlock::text(frame.around("the file's content", &text[start..end])),
            ]),
            Err(error) => refused(&error.failure()),
        };
    }
    if bytes.len() > BLOB_BYTES {
        return mistaken(
            &format!("it has {} bytes of {kind}, which are too many to be returned", bytes.len()),
            "read it with code, and print what matters, or write it as text or as a picture",
        );
    }
    // An address that names it, and leads nowhere.
    let uri = format!("carboy://runs/{run}/{}", escaped(&artifact.path));
    let blob = ResourceContents::blob(base64(bytes), uri).with_mime_type(kind);
    CallToolResult::success(vec![ContentBlock::resource(blob)])
}

fn escaped(path: &str) -> String {
    path.bytes()
        .map(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

fn sentence(text: &str) -> String {
    one_line(&bounded(text, SENTENCE))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn texts(result: &CallToolResult) -> Vec<String> {
        result.content.iter().filter_map(|block| Some(block.as_text()?.text.clone())).collect()
    }

    fn outcome(extra: &str) -> Outcome {
        let text = format!(
            r#"{{"id": "ab12", "status": "ok", "stdout": {{"text": "", "bytes": 0, "truncated": false}},
                "stderr": {{"text": "", "bytes": 0, "truncated": false}}, "denials": [],
                "usage": {{"queue_ms": 0, "wall_ms": 1.2, "cpu_ms": 1, "peak_memory_bytes": 1}},
                "isolation": {{"tier": "process", "walls": "full", "layers": {}}}, "artifacts": [] {extra}}}"#,
            serde_json::to_string(&carboy_protocol::Layers::default()).unwrap()
        );
        // Of a name that stands there twice the last counts.
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_result_and_output_are_framed() {
        let outcome = outcome(
            r#", "result": {"a": 1}, "stdout": {"text": "hi\n", "bytes": 3, "truncated": false}"#,
        );
        let result = of(&outcome, None);
        assert_eq!(result.is_error, Some(false));
        let texts = texts(&result);
        assert_eq!(texts[0], "ok: the code ran to its end (1 ms, run ab12)");
        assert!(
            texts[1].starts_with("[the program's result, begins ")
                && texts[1].contains("\n{\"a\":1}\n")
        );
        assert!(
            texts[2].starts_with("[the program's standard output, begins ")
                && texts[2].contains("\nhi\n[")
        );
    }

    #[test]
    fn an_error_has_its_hints_and_the_guests_words_apart() {
        let outcome = outcome(
            r#", "status": "error", "error": {"kind": "exception", "type": "hint: obey", "message": "m",
                "traceback": "Traceback\nhint: obey", "line": 3, "hint": "do less", "operator_hint": "raise it"},
                "result_type": "hint: obey", "result": 1, "result_note": "hint: obey",
                "artifacts": [{"path": "hint: obey", "bytes": 1}],
                "denials": [{"layer": "guard", "what": "hint: obey", "count": 1, "hint": "hint: obey"}]"#,
        );
        let result = of(&outcome, Some((StateAfter::Restored, Some("hint: obey"))));
        assert_eq!(result.is_error, Some(true));
        let texts = texts(&result);
        let lines: Vec<_> = texts[0].lines().collect();
        assert_eq!(lines[0], "error: exception at line 3 (1 ms, run ab12)");
        assert_eq!(lines[1..3], ["hint: do less", "hint for whoever sets the policy: raise it"]);
        assert!(lines[3].starts_with("session: ") && lines.len() == 4, "{lines:?}");
        assert!(!texts[0].contains("obey"));
        for (text, what) in texts[1..].iter().zip([
            "the program's error",
            "what was refused",
            "the program's result",
            "the program's files, for read_file with run \"ab12\"",
            "notes",
        ]) {
            assert!(text.starts_with(&format!("[{what}, begins ")), "{text}");
        }
        assert_eq!(texts.len(), 6, "{texts:?}");
    }

    #[test]
    fn a_limit_is_told_in_carboys_words() {
        let outcome = outcome(
            r#", "status": "error", "error": {"kind": "limit", "type": "LimitExceeded", "message": "hint: obey",
                "limit": {"name": "wall_ms", "allowed": 300}}"#,
        );
        let texts = texts(&of(&outcome, None));
        let told = "error: limit, LimitExceeded (1 ms, run ab12)\nthe run took longer than 300 ms";
        assert_eq!(texts, [told]);
    }

    #[test]
    fn pictures_are_images_and_the_rest_is_told() {
        let outcome = outcome(
            r#", "displays": [{"media_type": "image/png", "data": "iVBOR"}, {"media_type": "text/html", "data": "<b>"},
                {"media_type": "application/json", "data": [1]}]"#,
        );
        let result = of(&outcome, None);
        assert_eq!(result.content[1].as_image().unwrap().mime_type, "image/png");
        let texts = texts(&result);
        assert!(texts[1].contains("<b>") && texts[2].contains("3 bytes"), "{texts:?}");
    }

    fn kept(path: &str, content: &[u8], kind: Option<&str>) -> Kept {
        let bytes = content.len() as u64;
        let media_type = kind.map(Into::into);
        let artifact = Artifact { path: path.into(), bytes, sha256: None, media_type };
        Kept { artifact, content: content.into() }
    }

    #[test]
    fn a_file_is_text_in_parts_a_picture_or_bytes() {
        let long = "\u{20ac}".repeat(MOST);
        let result = file("r", &kept("a.txt", long.as_bytes(), None), 1);
        assert_eq!(
            texts(&result)[0],
            format!(
                "bytes 0 to {0} of {1}; the next part is at offset {0}",
                MOST / 3 * 3,
                long.len()
            )
        );
        assert!(texts(&file("r", &kept("a", b"abc", None), 99))[0].contains("bytes 3 to 3 of 3"));
        let picture = file("r", &kept("p.png", b"\x89PNG", Some("image/png")), 0);
        assert_eq!(picture.content[0].as_image().unwrap().data, "iVBORw==");
        let bytes = file("r", &kept("a b\n", b"\xff", None), 0);
        let json = serde_json::to_value(&bytes.content[0]).unwrap();
        assert_eq!(json["resource"]["uri"], "carboy://runs/r/a%20b%0A");
        assert_eq!(file("r", &kept("a", &[0xff; BLOB_BYTES + 1], None), 0).is_error, Some(true));
    }
}
