//! One page about a run: its code, what it printed, what it showed, what was refused.

use carboy_protocol::{Denial, Display, Outcome};

use super::code::code;
use super::display::displays;
use super::document::{alarm, document, lines, pre, safe, section, table};

/// What a page is about. All texts are anybody's.
pub struct Page<'a> {
    /// What stands at the top, such as `run 0123`.
    pub title: String,
    /// How it ended: a word for the style, such as `ok` or `error`, and a few words for people.
    pub end: (&'static str, String),
    /// A line below the title, such as when it was.
    pub remark: String,
    /// The code, if it is known.
    pub code: Option<&'a str>,
    /// What came of it, if anything did.
    pub outcome: Option<&'a Outcome>,
    /// Why nothing did.
    pub failure: Option<&'a str>,
    /// Pictures among the files that it left, if their content is there.
    pub pictures: Vec<Display>,
    /// What it ran on, and with what: a name and a value each.
    pub about: Vec<(&'static str, String)>,
}

impl Page<'_> {
    /// The page.
    pub fn html(&self) -> String {
        let title = safe(&self.title);
        let (class, end) = &self.end;
        let mut body = format!(
            "<header><p class=\"brand\">carboy</p><h1>{title} <span class=\"end {class}\">{}</span></h1>\n",
            safe(end)
        );
        if !self.remark.is_empty() {
            body.push_str(&format!("<p class=\"dim\">{}</p>\n", safe(&self.remark)));
        }
        body.push_str(&self.outcome.map(used).unwrap_or_default());
        body.push_str("</header>\n");
        let line =
            self.outcome.and_then(|outcome| outcome.error.as_ref()).and_then(|error| error.line);
        let code = section("Code", &code(self.code.unwrap_or_default(), line));
        body.push_str(&section("Failure of carboy", &self.failure.map_or(String::new(), pre)));
        match self.outcome {
            Some(outcome) => body.push_str(&told(outcome, &code)),
            None => body.push_str(&code),
        }
        body.push_str(&section("Pictures among its files", &displays(&self.pictures)));
        body.push_str(&section("Run", &table(&self.about)));
        document(&format!("carboy: {}", self.title), &body)
    }
}

/// What it used, at a glance.
fn used(outcome: &Outcome) -> String {
    let usage = &outcome.usage;
    let peak = usage.peak_memory_bytes as f64 / f64::from(1 << 20);
    let figures = [
        ("on the clock", duration(usage.wall_ms)),
        ("processor time", duration(usage.cpu_ms)),
        ("memory at most", format!("{peak:.1} MiB")),
        ("sealed by", format!("{} walls", outcome.isolation.walls.as_str())),
        ("calls refused", outcome.refused().map(|denial| denial.count).sum::<u64>().to_string()),
    ];
    let figures = figures
        .iter()
        .map(|(name, value)| format!("<div><dt>{name}</dt><dd>{}</dd></div>", safe(value)));
    format!("<dl>{}</dl>\n", figures.collect::<String>())
}

/// Milliseconds as people say them.
fn duration(ms: f64) -> String {
    if ms < 1000.0 { format!("{ms:.1} ms") } else { format!("{:.2} s", ms / 1000.0) }
}

/// What came of it, around the code that did it.
fn told(outcome: &Outcome, code: &str) -> String {
    let mut body = String::new();
    if let Some(error) = &outcome.error {
        let place = error.line.map(|line| format!(" in line {line}")).unwrap_or_default();
        let what = format!("{}{place}: {}", error.type_name, error.message);
        let hints = [&error.hint, &error.operator_hint].into_iter().flatten().map(String::as_str);
        let said = lines(std::iter::once(what.as_str()).chain(hints));
        body.push_str(&alarm("bad", "Why it ended", &said));
    }
    let mut left = code.to_owned();
    for (name, output) in
        [("Standard output", &outcome.stdout), ("Standard error", &outcome.stderr)]
    {
        left.push_str(&section(name, &pre(&output.text)));
    }
    let result = outcome.result.as_ref().map(|result| result.get());
    let result = result.or(outcome.result_text.as_deref()).unwrap_or_default();
    left.push_str(&section("Result", &pre(result)));
    left.push_str(&section(
        "About the result",
        &pre(outcome.result_note.as_deref().unwrap_or_default()),
    ));
    let traceback = outcome.error.as_ref().and_then(|error| error.traceback.as_deref());
    let traceback = section("Traceback", &pre(traceback.unwrap_or_default()));
    let mut right = section("Shown", &displays(&outcome.displays));
    right
        .push_str(&section("Not shown", &pre(outcome.display_note.as_deref().unwrap_or_default())));
    let refused: Vec<_> = outcome.refused().map(denied).collect();
    let refused = alarm("warn", "Refused", &table(&refused));
    if right.is_empty() {
        left.push_str(&refused);
        body.push_str(&left);
    } else {
        right.push_str(&refused);
        body.push_str(&format!(
            "<div class=\"pair\"><div>{left}</div>\n<div>{right}</div></div>\n"
        ));
    }
    body.push_str(&traceback);
    body.push_str(&section("Files it left", &table(&files(outcome))));
    body
}

fn denied(denial: &Denial) -> (String, String) {
    let times = if denial.count == 1 { String::new() } else { format!(" ×{}", denial.count) };
    let place = denial.line.map(|line| format!(", line {line}")).unwrap_or_default();
    (format!("{}{times}{place}", denial.what), denial.hint.clone())
}

fn files(outcome: &Outcome) -> Vec<(String, String)> {
    let files = outcome.artifacts.iter().map(|file| {
        let kind = file.media_type.as_ref().map(|kind| format!(", {kind}")).unwrap_or_default();
        let digest = file.sha256.as_ref().map(|hex| format!(", sha256 {hex}")).unwrap_or_default();
        (file.path.clone(), format!("{} bytes{kind}{digest}", file.bytes))
    });
    let left_out = outcome.artifacts_left_out.iter().map(|left| {
        let first = left.paths.first().cloned().unwrap_or_default();
        let others =
            if left.count > 1 { format!(" and {} more", left.count - 1) } else { String::new() };
        (format!("{first}{others}"), format!("left out: {}", left.message))
    });
    files.chain(left_out).collect()
}

#[cfg(test)]
mod tests {
    use carboy_protocol::MediaType;
    use serde_json::value::RawValue;

    use super::*;

    const HOSTILE: &str =
        "\"'></iframe></pre><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}";

    fn outcome() -> Outcome {
        let golden = include_str!("../../../../golden/pipe/outcome.json");
        let whole: serde_json::Value = serde_json::from_str(golden).unwrap();
        serde_json::from_value(whole["outcome"]["outcome"].clone()).unwrap()
    }

    fn display(media_type: MediaType, data: &str) -> Display {
        let data = RawValue::from_string(serde_json::to_string(data).unwrap()).unwrap();
        Display { media_type, data }
    }

    fn page(outcome: Option<&Outcome>) -> String {
        let page = Page {
            title: HOSTILE.into(),
            end: ("error", HOSTILE.into()),
            remark: HOSTILE.into(),
            code: Some(HOSTILE),
            outcome,
            failure: Some(HOSTILE),
            pictures: vec![],
            about: vec![("tenant", HOSTILE.to_owned())],
        };
        page.html()
    }

    /// The tags of a page, without what stands in their attributes.
    fn tags(page: &str) -> Vec<&str> {
        page.split('<').skip(1).filter_map(|rest| rest.split([' ', '>', '/']).next()).collect()
    }

    #[test]
    fn nothing_that_a_guest_wrote_is_markup() {
        let mut hostile = outcome();
        hostile.displays =
            MediaType::ALL.iter().map(|media_type| display(*media_type, HOSTILE)).collect();
        hostile.display_note = Some(HOSTILE.into());
        hostile.stdout.text = HOSTILE.into();
        hostile.result_text = Some(HOSTILE.into());
        hostile.result_note = Some(HOSTILE.into());
        for denial in &mut hostile.denials {
            denial.what = HOSTILE.into();
            denial.hint = HOSTILE.into();
        }
        if let Some(error) = &mut hostile.error {
            error.type_name = HOSTILE.into();
            error.message = HOSTILE.into();
            error.traceback = Some(HOSTILE.into());
            error.hint = Some(HOSTILE.into());
        }
        let known = [
            "!doctype",
            "html",
            "head",
            "meta",
            "title",
            "",
            "style",
            "body",
            "header",
            "section",
            "div",
            "dl",
            "dt",
            "dd",
            "h1",
            "h2",
            "p",
            "span",
            "i",
            "b",
            "table",
            "tr",
            "th",
            "td",
            "figure",
            "figcaption",
            "img",
            "iframe",
            "pre",
        ];
        for page in [page(Some(&hostile)), page(None)] {
            for tag in tags(&page) {
                assert!(known.contains(&tag), "<{tag}>");
            }
            assert!(!page.contains("<script") && !page.contains("<img src=x"));
            // Only in its frame may a guest turn text around.
            let frames = page.matches("<iframe").count();
            assert_eq!(page.matches('\u{202e}').count(), frames);
        }
        let page = page(Some(&hostile));
        assert_eq!(page.matches("<iframe").count(), 1);
        assert_eq!(page.matches("<iframe sandbox=\"\" ").count(), 1);
    }

    #[test]
    fn what_was_refused_is_told_also_of_a_run_that_went_on() {
        let mut went_on = outcome();
        let socket = r#"{"layer":"seccomp","what":"socket","count":3,"hint":"no network"}"#;
        went_on.error = None;
        went_on.denials.clear();
        went_on.probes = vec![serde_json::from_str(socket).unwrap()];
        let page = page(Some(&went_on));
        assert!(page.contains("<th>socket ×3</th><td>no network</td>"), "{page}");
        assert!(page.contains("<dt>calls refused</dt><dd>3</dd>"), "{page}");
    }
}
