//! One page of HTML about a run: its code, what it printed, what it showed, what was refused.
//!
//! The page is a function of what is given, stands alone, and loads and runs nothing: its content security
//! policy forbids scripts and every address. All that the guest wrote is escaped. HTML that the guest made
//! stands in a frame whose sandbox allows nothing, and drawings stand in the page as pictures, whose scripts
//! a browser does not run.

use carboy_protocol::{Display, MediaType, Outcome};

use crate::guest_text::visible;

/// What the page and everything in it may do: have styles, and pictures that are part of it.
const POLICY: &str = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; \
     base-uri 'none'; form-action 'none'";
/// How many characters of JSON, Markdown or formulas are shown.
const MOST_TEXT: usize = 20_000;
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;\
     color:#1c1c1c;background:#fff}h1{font-size:1.3rem}h2{font-size:1rem;margin:1.6rem 0 .4rem}\
     pre{background:#f5f5f2;padding:.7rem .9rem;overflow:auto;border-radius:4px;font-size:13px}\
     table{border-collapse:collapse}th{text-align:left;padding:.1rem 1.2rem .1rem 0;font-weight:500;\
     color:#666;vertical-align:top}img{max-width:100%}iframe{width:100%;height:26rem;border:1px solid #ddd;\
     border-radius:4px}.ok{color:#176d2c}.error{color:#a3181d}figure{margin:.5rem 0}figcaption{color:#666;\
     font-size:12px}";

/// What a page is about.
pub struct Page<'a> {
    /// What stands at the top, such as `run 0123`.
    pub title: &'a str,
    /// Lines of a table below it: a name and a value.
    pub facts: &'a [(&'a str, String)],
    /// The code, if it is known.
    pub code: Option<&'a str>,
    /// What came of it, if anything did.
    pub outcome: Option<&'a Outcome>,
}

/// The page.
pub fn html(page: &Page<'_>) -> String {
    let mut text = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\
         <meta name=\"referrer\" content=\"no-referrer\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>{title}</title><style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n",
        title = escaped(page.title)
    );
    text.push_str("<table>");
    let facts = page.facts.iter().map(|(name, value)| (*name, value.clone()));
    for (name, value) in facts.chain(page.outcome.map(usage).into_iter().flatten()) {
        let (name, value) = (escaped(name), escaped(&value));
        text.push_str(&format!("<tr><th>{name}</th><td>{value}</td></tr>"));
    }
    text.push_str("</table>\n");
    if let Some(outcome) = page.outcome {
        text.push_str(&displays(outcome));
        part(&mut text, "left out", outcome.display_note.as_deref().unwrap_or_default());
    }
    part(&mut text, "code", page.code.unwrap_or_default());
    if let Some(outcome) = page.outcome {
        outcome_parts(&mut text, outcome);
    }
    text.push_str("</body></html>\n");
    text
}

/// What a run showed, in a form that runs and loads nothing, for any page with a policy like this one's.
pub fn displays(outcome: &Outcome) -> String {
    let figures = outcome.displays.iter().map(|display| {
        let (body, name) = (shown(display), display.media_type.as_str());
        format!("<figure>{body}<figcaption>{name}</figcaption></figure>\n")
    });
    figures.collect()
}

fn usage(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let usage = &outcome.usage;
    let peak = usage.peak_memory_bytes as f64 / f64::from(1 << 20);
    let figures =
        format!("{:.1} ms wall, {:.1} ms cpu, {peak:.1} MiB", usage.wall_ms, usage.cpu_ms);
    vec![("walls", outcome.isolation.walls.as_str().to_owned()), ("usage", figures)]
}

fn outcome_parts(text: &mut String, outcome: &Outcome) {
    part(text, "standard output", &outcome.stdout.text);
    part(text, "standard error", &outcome.stderr.text);
    let result = outcome.result.as_ref().map(|result| result.get());
    part(text, "result", result.or(outcome.result_text.as_deref()).unwrap_or_default());
    part(text, "note", outcome.result_note.as_deref().unwrap_or_default());
    if let Some(error) = &outcome.error {
        let place = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        part(text, "error", &format!("{}{place}: {}", error.type_name, error.message));
        part(text, "traceback", error.traceback.as_deref().unwrap_or_default());
        part(text, "hint", error.hint.as_deref().unwrap_or_default());
    }
    let denied = outcome.denials.iter();
    let denied: String = denied
        .map(|denial| format!("{} ×{}: {}\n", denial.what, denial.count, denial.hint))
        .collect();
    part(text, "denied", &denied);
    let files = outcome.artifacts.iter();
    let files: String =
        files.map(|file| format!("{} ({} bytes)\n", file.path, file.bytes)).collect();
    part(text, "files", &files);
}

fn part(text: &mut String, name: &str, body: &str) {
    if !body.is_empty() {
        text.push_str(&format!("<h2>{name}</h2>\n<pre>{}</pre>\n", escaped(body)));
    }
}

/// HTML without elements that link to something: no policy keeps a browser from looking up the host they name.
fn unlinked(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut copied = 0;
    for (at, _) in html.to_ascii_lowercase().match_indices("<link") {
        text.push_str(&html[copied..at]);
        text.push_str("&lt;");
        copied = at + 1;
    }
    text + &html[copied..]
}

/// One display. Its data was checked by the engine, but a record may have been changed since: what goes
/// into an attribute is escaped again, whatever it is.
fn shown(display: &Display) -> String {
    let data = display.text().unwrap_or_default();
    match display.media_type {
        MediaType::Png | MediaType::Jpeg | MediaType::Gif => {
            let (name, data) = (display.media_type.as_str(), escaped(&data));
            format!("<img alt=\"\" src=\"data:{name};base64,{data}\">")
        }
        MediaType::Svg => {
            format!("<img alt=\"\" src=\"data:image/svg+xml,{}\">", percent(&data))
        }
        MediaType::Html => {
            // It goes first, so that nothing after it can loosen it.
            let policy =
                format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
            // Not made visible: it is markup, and the frame is where it may say what it likes.
            let inner = escaped_markup(&format!("{policy}{}", unlinked(&data)));
            format!(
                "<iframe sandbox=\"\" referrerpolicy=\"no-referrer\" srcdoc=\"{inner}\"></iframe>"
            )
        }
        MediaType::Arrow => format!("<pre>{} characters of base64</pre>", data.len()),
        MediaType::Json | MediaType::Plotly | MediaType::VegaLite5 | MediaType::VegaLite6 => {
            format!("<pre>{}</pre>", escaped(beginning(display.data.get())))
        }
        MediaType::Markdown | MediaType::Latex | MediaType::Plain => {
            format!("<pre>{}</pre>", escaped(beginning(&data)))
        }
    }
}

fn beginning(text: &str) -> &str {
    text.char_indices().nth(MOST_TEXT).map_or(text, |(end, _)| &text[..end])
}

/// Text of anybody's, as text of the page.
fn escaped(text: &str) -> String {
    escaped_markup(&visible(text))
}

/// Markup as text. A browser would take a zero byte for an end or replace it.
fn escaped_markup(text: &str) -> String {
    crate::drill_page::escaped(&text.replace('\0', "\u{fffd}"))
}

/// Text as part of an address: everything but letters and digits is written by its bytes.
fn percent(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() * 2);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() {
            safe.push(char::from(byte));
        } else {
            safe.push_str(&format!("%{byte:02X}"));
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    const HOSTILE: &str =
        "\"'></iframe></pre><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}";

    fn outcome() -> Outcome {
        let golden = include_str!("../../../golden/pipe/outcome.json");
        let whole: serde_json::Value = serde_json::from_str(golden).unwrap();
        serde_json::from_value(whole["outcome"]["outcome"].clone()).unwrap()
    }

    fn display(media_type: MediaType, data: &str) -> Display {
        let data = RawValue::from_string(serde_json::to_string(data).unwrap()).unwrap();
        Display { media_type, data }
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
        if let Some(error) = &mut hostile.error {
            error.message = HOSTILE.into();
            error.traceback = Some(HOSTILE.into());
        }
        let facts = [("tenant", HOSTILE.to_owned())];
        let page = html(&Page {
            title: HOSTILE,
            facts: &facts,
            code: Some(HOSTILE),
            outcome: Some(&hostile),
        });
        let known = [
            "!DOCTYPE",
            "html",
            "head",
            "meta",
            "title",
            "",
            "style",
            "body",
            "h1",
            "h2",
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
        for tag in tags(&page) {
            assert!(known.contains(&tag), "<{tag}>");
        }
        assert_eq!(page.matches("<iframe").count(), 1);
        assert_eq!(page.matches("<iframe sandbox=\"\" ").count(), 1);
        assert!(!page.contains("<script") && !page.contains("<img src=x"));
    }

    #[test]
    fn the_page_forbids_scripts_before_anything_else_stands_in_it() {
        let page = html(&Page { title: "run", facts: &[], code: None, outcome: None });
        let policy = page.find("Content-Security-Policy").unwrap();
        assert!(policy < page.find("<title>").unwrap());
        assert!(page.contains("default-src 'none'") && !page.contains("script-src"));
    }

    #[test]
    fn displays_are_shown_in_a_form_that_a_browser_does_not_run() {
        let png = shown(&display(MediaType::Png, "iVBORw0KGgo="));
        assert_eq!(png, "<img alt=\"\" src=\"data:image/png;base64,iVBORw0KGgo=\">");
        let svg = shown(&display(MediaType::Svg, "<svg onload=\"x\"/>"));
        assert!(
            svg.ends_with("src=\"data:image/svg+xml,%3Csvg%20onload%3D%22x%22%2F%3E\">"),
            "{svg}"
        );
        assert_eq!(unlinked("a<LINK rel=x><b>é<linked"), "a&lt;LINK rel=x><b>é&lt;linked");
        let frame = shown(&display(MediaType::Html, "<b title=\"a\">&amp;\0"));
        assert!(
            frame.starts_with(
                "<iframe sandbox=\"\" referrerpolicy=\"no-referrer\" srcdoc=\"&lt;meta"
            )
        );
        assert!(
            frame.ends_with("&lt;b title=&quot;a&quot;&gt;&amp;amp;\u{fffd}\"></iframe>"),
            "{frame}"
        );
        let long = shown(&display(MediaType::Plain, &"ü".repeat(MOST_TEXT + 1)));
        assert_eq!(long.chars().filter(|char| *char == 'ü').count(), MOST_TEXT);
    }
}
