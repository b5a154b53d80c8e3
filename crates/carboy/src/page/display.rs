//! What a run showed, in a form that a browser neither runs nor loads anything for.
//!
//! HTML that the guest made stands in a frame whose sandbox allows nothing, and drawings stand in the page as
//! pictures, whose scripts a browser does not run.

use carboy_protocol::{Display, MediaType};

use super::document::{POLICY, escaped, safe};

/// How many characters of JSON, Markdown or formulas are shown.
const MOST_TEXT: usize = 20_000;
/// How high a frame is at most. Without scripts it cannot fit what is in it.
const HIGHEST_REM: usize = 26;
/// What HTML in a frame looks like where it does not say so itself. It is always on white: HTML that is made for
/// notebooks counts on that.
const FRAME_STYLE: &str = "<style>body{font:14px/1.45 Inter,system-ui,sans-serif;margin:.6rem .8rem;color:#1b2129;\
     background:#fff}table{border-collapse:collapse;border:0}td,th{padding:.25rem .9rem;border:0;\
     border-bottom:1px solid #dfe3e8;text-align:right;font-variant-numeric:tabular-nums}\
     th{font-weight:600;color:#5c6773}tbody th{text-align:left}</style>";

/// All that a run showed, in order.
pub fn displays(displays: &[Display]) -> String {
    let figures = displays.iter().map(|display| {
        let body = shown(display);
        match display.media_type {
            // What a picture or a table is can be seen.
            MediaType::Png
            | MediaType::Jpeg
            | MediaType::Gif
            | MediaType::Svg
            | MediaType::Html => {
                format!("<figure>{body}</figure>\n")
            }
            other => {
                format!("<figure>{body}<figcaption>{}</figcaption></figure>\n", other.as_str())
            }
        }
    });
    figures.collect()
}

/// One display. Its data was checked by the engine, but a record may have been changed since: what goes
/// into an attribute is escaped again, whatever it is.
pub fn shown(display: &Display) -> String {
    let data = display.text().unwrap_or_default();
    match display.media_type {
        MediaType::Png | MediaType::Jpeg | MediaType::Gif => {
            let (name, data) = (display.media_type.as_str(), safe(&data));
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
            let inner = escaped(&format!("{policy}{FRAME_STYLE}{}", unlinked(&data)));
            let height = height(&data);
            format!(
                "<iframe sandbox=\"\" referrerpolicy=\"no-referrer\" style=\"height:{height}rem\" \
                 srcdoc=\"{inner}\"></iframe>"
            )
        }
        MediaType::Arrow => format!("<pre>{} characters of base64</pre>", data.len()),
        MediaType::Json | MediaType::Plotly | MediaType::VegaLite5 | MediaType::VegaLite6 => {
            format!("<pre>{}</pre>", safe(beginning(display.data.get())))
        }
        MediaType::Markdown | MediaType::Latex | MediaType::Plain => {
            format!("<pre>{}</pre>", safe(beginning(&data)))
        }
    }
}

/// How high a frame is: so that a short table has no empty space below it, and a long one can be scrolled.
fn height(html: &str) -> usize {
    let rows = html.to_ascii_lowercase().matches("<tr").count();
    if rows == 0 { HIGHEST_REM } else { (3 + rows * 9 / 5).min(HIGHEST_REM) }
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

fn beginning(text: &str) -> &str {
    text.char_indices().nth(MOST_TEXT).map_or(text, |(end, _)| &text[..end])
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

    fn display(media_type: MediaType, data: &str) -> Display {
        let data = RawValue::from_string(serde_json::to_string(data).unwrap()).unwrap();
        Display { media_type, data }
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
                "<iframe sandbox=\"\" referrerpolicy=\"no-referrer\" style=\"height:26rem\" srcdoc=\"&lt;meta"
            ),
            "{frame}"
        );
        assert!(
            frame.ends_with("&lt;b title=&quot;a&quot;&gt;&amp;amp;\u{fffd}\"></iframe>"),
            "{frame}"
        );
        let long = shown(&display(MediaType::Plain, &"ü".repeat(MOST_TEXT + 1)));
        assert_eq!(long.chars().filter(|char| *char == 'ü').count(), MOST_TEXT);
    }

    #[test]
    fn a_frame_is_as_high_as_its_table_and_no_higher_than_a_window() {
        assert_eq!(height("<table><tr><TR>"), 6);
        assert_eq!(height(&"<tr>".repeat(1000)), HIGHEST_REM);
        assert_eq!(height("<p>"), HIGHEST_REM);
    }
}
