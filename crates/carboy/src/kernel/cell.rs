//! What a cell came to, as Jupyter shows it.
//!
//! A notebook is a page of a server that can run anything on its host, and outputs are part of the page. What a
//! guest shows is therefore never given to the page as it is: pictures are pictures, HTML and drawings stand in a
//! frame in which nothing runs or loads, and the rest is text.

use carboy_engine::RunError;
use carboy_protocol::{Display, GuestError, MediaType, Outcome, Reply, StateAfter, visible_json};
use serde_json::{Value, json};

use crate::guest_text::{one_line, visible};
use crate::page;

/// How many characters of text a display has.
const MOST_TEXT: usize = 20_000;

/// What everybody who watches the notebook is told: the kind of a message, and its content.
pub type Told = (&'static str, Value);

/// What came of a cell: what is told, and what its reply says of an error.
pub struct Shown {
    pub told: Vec<Told>,
    pub error: Option<Value>,
}

/// What a run came to.
pub fn of_reply(reply: &Reply, count: u64) -> Shown {
    let outcome = &reply.outcome;
    let mut told: Vec<Told> = outcome.displays.iter().map(displayed).collect();
    if let Some(note) = &outcome.display_note {
        told.push(stderr(&format!("not shown: {}\n", one_line(note))));
    }
    if let Some(text) = result(outcome) {
        let data = json!({ "text/plain": text });
        let content = json!({ "execution_count": count, "data": data, "metadata": {} });
        told.push(("execute_result", content));
    }
    let error = outcome.error.as_ref().map(|error| failed(error, outcome, state(reply)));
    if error.is_none() {
        told.extend(state(reply).map(|state| stderr(&format!("{state}\n"))));
    }
    told.extend(error.clone().map(|error| ("error", error)));
    Shown { told, error }
}

/// A run that did not come about.
pub fn of_failure(error: &RunError, is_over: bool) -> Shown {
    let message = visible(&error.to_string());
    let mut lines = vec![red(&message)];
    if is_over {
        lines.push("The next cell begins a new session, in which nothing is defined.".into());
    }
    let error = json!({ "ename": "carboy", "evalue": message, "traceback": lines });
    Shown { told: vec![("error", error.clone())], error: Some(error) }
}

/// Text that carboy itself says.
fn stderr(text: &str) -> Told {
    ("stream", json!({ "name": "stderr", "text": text }))
}

/// The value of the last expression.
fn result(outcome: &Outcome) -> Option<String> {
    let text = outcome.result_text.as_deref().map(visible);
    let json = outcome.result.as_ref().map(|result| visible_json(result.get()).into_owned());
    let value = text.or(json).filter(|value| value != "null")?;
    let note = outcome.result_note.as_ref().map(|note| format!("\nnote: {}", one_line(note)));
    Some(value + &note.unwrap_or_default())
}

fn displayed(display: &Display) -> Told {
    let name = display.media_type.as_str();
    let data = match display.media_type {
        MediaType::Png | MediaType::Jpeg | MediaType::Gif => {
            json!({ name: display.text(), "text/plain": format!("<{name}>") })
        }
        MediaType::Svg | MediaType::Html => {
            json!({ "text/html": page::shown(display), "text/plain": format!("<{name}>") })
        }
        MediaType::Markdown | MediaType::Latex | MediaType::Plain => {
            json!({ "text/plain": visible(&beginning(&display.text().unwrap_or_default())) })
        }
        MediaType::Json
        | MediaType::Plotly
        | MediaType::VegaLite5
        | MediaType::VegaLite6
        | MediaType::Arrow => {
            let text = beginning(display.data.get());
            json!({ "text/plain": format!("{name}: {}", visible_json(&text)) })
        }
    };
    ("display_data", json!({ "data": data, "metadata": {} }))
}

fn beginning(text: &str) -> String {
    match text.char_indices().nth(MOST_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

fn failed(error: &GuestError, outcome: &Outcome, state: Option<String>) -> Value {
    let name = error
        .limit
        .as_ref()
        .map_or(one_line(&error.type_name), |limit| format!("limit {}", limit.name.as_str()));
    let message = visible(&error.message);
    let place = error.line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let mut lines = match &error.traceback {
        // Its last line says it all.
        Some(text) => visible(text).lines().map(String::from).collect(),
        None => vec![red(&format!("{name}{place}: {message}"))],
    };
    lines.extend(error.hint.iter().map(|hint| format!("hint: {}", visible(hint))));
    for denial in &outcome.denials {
        let (what, hint) = (one_line(&denial.what), one_line(&denial.hint));
        lines.push(format!("denied: {what} ×{}: {hint}", denial.count));
    }
    lines.extend(state);
    json!({ "ename": name, "evalue": message, "traceback": lines })
}

/// What is left of what cells defined, where that is not what everybody expects.
fn state(reply: &Reply) -> Option<String> {
    let what = match reply.state {
        StateAfter::Kept => return reply.note.as_deref().map(one_line),
        StateAfter::Restored => "Everything is as it was before this cell.",
        StateAfter::Ended => {
            "The session is over. The next cell begins a new one, in which nothing is defined."
        }
    };
    let note = reply.note.as_ref().map(|note| format!(" Note: {}", one_line(note)));
    Some(what.to_owned() + &note.unwrap_or_default())
}

fn red(text: &str) -> String {
    format!("\x1b[31m{text}\x1b[0m")
}
