//! The report of a drill as one page, for somebody who was not there.

use std::collections::BTreeMap;

use carboy_drill::Report;
use serde_json::Value;

use super::document::{document, safe};

/// The whole page. Every text of a row is escaped: a fault may carry words of a hostile program.
pub fn page(body: &Value, results: &[Report]) -> String {
    let held = results.iter().filter(|report| report.held).count();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut text = format!(
        "<h1>carboy drill</h1>\n\
         <p>carboy {} on Linux {}, {} walls. <b>{held} of {}</b> attacks held. \
         {} rows are not promised in these walls.</p>\n\
         <section><table><tr><th>what stops it</th><th>held</th><th>rows</th></tr>\n",
        env!("CARGO_PKG_VERSION"),
        safe(kernel.trim()),
        safe(body["walls"].as_str().unwrap_or_default()),
        results.len(),
        body["skipped"].as_array().map_or(0, Vec::len),
    );
    for (layer, (held, all)) in by_layer(results) {
        let class = if held == all { "held" } else { "failed" };
        text.push_str(&format!(
            "<tr><td>{}</td><td class=\"{class}\">{held}</td><td>{all}</td></tr>\n",
            safe(layer),
        ));
    }
    text.push_str(
        "</table></section>\n<section><table><tr><th>row</th><th>what it tries</th><th>first layer</th>\
         <th>second layer</th><th>ended</th><th>control</th><th></th></tr>\n",
    );
    for report in results {
        let verdict = if report.held {
            "<span class=\"held\">held</span>".to_owned()
        } else {
            format!("<span class=\"failed\">{}</span>", safe(&report.faults.join("; ")))
        };
        let cells = [&report.title, &report.first, &report.second, &report.ended, &report.control];
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", safe(cell))).collect();
        text.push_str(&format!(
            "<tr><td><code>{}</code></td>{cells}<td>{verdict}</td></tr>\n",
            safe(&report.id),
        ));
    }
    text.push_str("</table></section>\n");
    document("carboy drill", &text)
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
