//! One recorded run as a page that needs nothing else: no script, no style or picture from elsewhere.
//!
//! Everything on it may be a hostile program's. Text is escaped, characters that are not seen are shown, and a
//! policy in the page itself forbids whatever would get past that to load or run anything.

use carboy_protocol::Outcome;
use carboy_store::{Record, RunFacts};

use super::words::{end_of, given_words};
use crate::drill_page::escaped;
use crate::guest_text::visible;
use crate::page::displays;

const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";
const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
    padding:0 1rem;color:#1b1f24}h1{font-size:1.4rem;margin:0}h2{font-size:1rem;margin:1.6rem 0 .4rem}\
    .end{display:inline-block;padding:.1rem .6rem;border-radius:.8rem;color:#fff;background:#b3261e}\
    .ok{background:#176b2c}.abandoned{background:#8a6100}.dim{color:#5b6672}\
    pre{background:#f5f7f9;border:1px solid #d8dde3;border-radius:.4rem;padding:.6rem .8rem;overflow-x:auto;\
    font:13px/1.45 ui-monospace,monospace;margin:.3rem 0}pre mark{background:#ffd9d6}\
    pre i{color:#98a2ad;font-style:normal;user-select:none}\
    table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .6rem .2rem 0;\
    border-bottom:1px solid #e6eaee;vertical-align:top;overflow-wrap:anywhere}\
    th{font-weight:500;color:#5b6672;white-space:nowrap}code{font:13px ui-monospace,monospace}\
    img{max-width:100%;border:1px solid #e6eaee}iframe{width:100%;height:26rem;border:1px solid #e6eaee}\
    figure{margin:.5rem 0}figcaption{color:#5b6672;font-size:12px}";

/// The whole page.
pub fn page(record: &Record, run: &RunFacts) -> String {
    let class = run.status.as_str();
    let mut body = format!(
        "<h1><span class=\"end {class}\">{}</span> run {}</h1>\n<p class=\"dim\">{}{}</p>\n",
        safe(&end_of(run)),
        safe(run.id.get(..12).unwrap_or(&run.id)),
        safe(&record.facts.time),
        if run.tenant.is_empty() { String::new() } else { format!(", for {}", safe(&run.tenant)) },
    );
    let outcome = record.outcome.as_deref();
    let line = outcome.and_then(|outcome| outcome.error.as_ref()).and_then(|error| error.line);
    section(&mut body, "Code", &numbered(record.code.as_deref().unwrap_or_default(), line));
    if let Some(outcome) = outcome {
        told(&mut body, outcome);
    }
    if let Some(failure) = &run.failure {
        section(&mut body, "Failure of carboy", &pre(&failure.message));
    }
    section(&mut body, "Run", &table(&about(record, run)));
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <title>carboy run {}</title><style>{STYLE}</style></head><body>\n{body}</body></html>\n",
        safe(&run.id),
    )
}

/// What came of it.
fn told(body: &mut String, outcome: &Outcome) {
    let result = outcome.result.as_ref().map(|result| result.get());
    section(body, "Result", &pre(result.or(outcome.result_text.as_deref()).unwrap_or_default()));
    section(body, "Shown", &displays(outcome));
    section(body, "Not shown", &outcome.display_note.as_deref().map_or(String::new(), paragraph));
    if let Some(error) = &outcome.error {
        let text = error.traceback.as_deref().unwrap_or(&error.message);
        section(body, "Error", &pre(text));
        section(body, "Hint", &error.hint.as_deref().map_or(String::new(), paragraph));
    }
    for (name, output) in
        [("Standard output", &outcome.stdout), ("Standard error", &outcome.stderr)]
    {
        section(body, name, &pre(&output.text));
    }
    let refused: Vec<_> = outcome
        .denials
        .iter()
        .map(|denial| (format!("{} ×{}", denial.what, denial.count), denial.hint.clone()))
        .collect();
    section(body, "Denied", &table(&refused));
    let files: Vec<_> = outcome
        .artifacts
        .iter()
        .map(|file| {
            let kind = file.media_type.as_deref().unwrap_or_default();
            let digest =
                file.sha256.as_deref().map_or(String::new(), |hex| format!(" sha256 {hex}"));
            (file.path.clone(), format!("{} bytes {kind}{digest}", file.bytes))
        })
        .collect();
    section(body, "Files", &table(&files));
}

/// What it ran on, and with what.
fn about(record: &Record, run: &RunFacts) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = vec![];
    let mut row = |name: &str, value: String| rows.push((name.into(), value));
    if let Some(usage) = &run.usage {
        let peak = usage.peak_memory_bytes as f64 / f64::from(1 << 20);
        let (wall, cpu) = (usage.wall_ms, usage.cpu_ms);
        row("used", format!("{wall:.1} ms on the clock, {cpu:.1} ms of processor, {peak:.1} MiB"));
    }
    row("walls", run.walls.as_str().into());
    let versions = &run.versions;
    row("interpreter", format!("CPython {}", versions.python));
    let names = versions.packages.iter().map(|(name, version)| format!("{name} {version}"));
    let names = names.collect::<Vec<_>>().join(", ");
    if !names.is_empty() {
        row("packages", names);
    }
    let (carboy, kernel, machine) = (&versions.carboy, &versions.kernel, &versions.machine);
    row("carboy", format!("{carboy} on Linux {kernel} {machine}"));
    for input in &run.inputs {
        let (name, bytes, sha256) = (&input.name, input.bytes, &input.sha256);
        row("input", format!("{name}, {bytes} bytes, sha256 {sha256}"));
    }
    for file in &run.files {
        row("given file", given_words(file));
    }
    for (name, digest) in [
        ("code sha256", Some(&run.code_sha256)),
        ("plan sha256", run.plan_sha256.as_ref()),
        ("result sha256", run.result_sha256.as_ref()),
    ] {
        if let Some(digest) = digest {
            row(name, digest.clone());
        }
    }
    row("record", format!("{}:{}", record.facts.seq, record.hash));
    rows
}

/// Text of anybody's, as text.
fn safe(text: &str) -> String {
    escaped(&visible(text))
}

/// A part of the page, if there is something in it.
fn section(body: &mut String, heading: &str, content: &str) {
    if !content.is_empty() {
        body.push_str(&format!("<h2>{heading}</h2>\n{content}\n"));
    }
}

fn paragraph(text: &str) -> String {
    format!("<p>{}</p>", safe(text))
}

fn pre(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("<pre>{}</pre>", safe(text)) }
}

/// Code with the numbers of its lines, and the one that raised.
fn numbered(code: &str, raised: Option<u32>) -> String {
    let lines = code.lines().zip(1_u32..).map(|(line, number)| {
        let line = safe(line);
        let line = if raised == Some(number) { format!("<mark>{line}</mark>") } else { line };
        format!("<i>{number:>4}  </i>{line}\n")
    });
    let lines: String = lines.collect();
    if lines.is_empty() { lines } else { format!("<pre>{lines}</pre>") }
}

fn table(rows: &[(String, String)]) -> String {
    let cells = |(name, value): &(String, String)| {
        format!("<tr><th>{}</th><td>{}</td></tr>\n", safe(name), safe(value))
    };
    let rows: String = rows.iter().map(cells).collect();
    if rows.is_empty() { rows } else { format!("<table>{rows}</table>") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_program_becomes_markup() {
        let hostile = "</pre><script>alert(1)</script>\u{202e}\u{1b}";
        for text in
            [pre(hostile), numbered(hostile, Some(1)), table(&[(hostile.into(), hostile.into())])]
        {
            assert!(!text.contains("<script") && !text.contains(['\u{202e}', '\u{1b}']), "{text}");
        }
        assert!(numbered("a\nb", Some(2)).contains("<mark>b</mark>"));
    }
}
