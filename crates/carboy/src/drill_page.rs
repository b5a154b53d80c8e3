//! The report of a drill as one page, for somebody who was not there.

use std::collections::BTreeMap;

use carboy_drill::Report;
use serde_json::Value;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;\
    padding:0 1rem;color:#1b1f24}table{border-collapse:collapse;width:100%;margin:1rem 0}\
    th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d8dde3;vertical-align:top}\
    .held{color:#176b2c}.failed{color:#b3261e;font-weight:600}code{font-size:13px}";

/// The whole page. Every text of a row is escaped: a fault may carry words of a hostile program.
pub fn page(body: &Value, results: &[Report]) -> String {
    let held = results.iter().filter(|report| report.held).count();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>carboy drill</title>\
         <style>{STYLE}</style></head><body>\n<h1>carboy drill</h1>\n\
         <p>carboy {} on Linux {}, {} walls. <b>{held} of {}</b> attacks held. \
         {} rows are not promised in these walls.</p>\n\
         <table><tr><th>what stops it</th><th>held</th><th>rows</th></tr>\n",
        env!("CARGO_PKG_VERSION"),
        escaped(kernel.trim()),
        escaped(body["walls"].as_str().unwrap_or_default()),
        results.len(),
        body["skipped"].as_array().map_or(0, Vec::len),
    );
    for (layer, (held, all)) in by_layer(results) {
        let class = if held == all { "held" } else { "failed" };
        text.push_str(&format!(
            "<tr><td>{}</td><td class=\"{class}\">{held}</td><td>{all}</td></tr>\n",
            escaped(layer),
        ));
    }
    text.push_str(
        "</table>\n<table><tr><th>row</th><th>what it tries</th><th>first layer</th>\
         <th>second layer</th><th>ended</th><th>control</th><th></th></tr>\n",
    );
    for report in results {
        let verdict = if report.held {
            "<span class=\"held\">held</span>".to_owned()
        } else {
            format!("<span class=\"failed\">{}</span>", escaped(&report.faults.join("; ")))
        };
        let cells = [&report.title, &report.first, &report.second, &report.ended, &report.control];
        let cells: String =
            cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
        text.push_str(&format!(
            "<tr><td><code>{}</code></td>{cells}<td>{verdict}</td></tr>\n",
            escaped(&report.id),
        ));
    }
    text.push_str("</table>\n</body></html>\n");
    text
}

/// Text in which nothing is markup.
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

/// How many rows each layer is the first to stop, and how many of them held.
pub fn by_layer(results: &[Report]) -> BTreeMap<&str, (usize, usize)> {
    let mut layers: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for report in results {
        let counts = layers.entry(report.first.as_str()).or_default();
        counts.0 += usize::from(report.held);
        counts.1 += 1;
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_program_becomes_markup() {
        assert_eq!(escaped("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}
