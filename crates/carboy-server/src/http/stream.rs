//! A run as it happens: server-sent events.
//!
//! The client's pace is the run's: output that nobody takes stays in the jar, and the run's deadline does not wait.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use carboy_engine::Sessions;
use http_body::Frame;
use serde::Serialize;
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::body::SHORT;
use super::run::{self, Run};
use crate::desk::Event;
use crate::line;

/// Something is sent at least so often, so that nobody on the way takes the connection for dead.
const BEAT: Duration = Duration::from_secs(15);

/// Answers with the events of a run, from when it has begun. One that is refused before that is a plain answer.
pub(super) async fn answer<R: Sessions>(
    mut run: Run<R>,
    id: String,
    begun: oneshot::Receiver<()>,
) -> Response {
    let first = tokio::select! {
        biased;
        first = run.next() => match first {
            Some(Event::Ended(Err(error))) => return run::answer(run.end(Err(error)).await),
            first => first,
        },
        Ok(()) = begun => None,
    };
    // One at a time: whoever does not take an event gets no further one.
    let (sender, receiver) = mpsc::channel(1);
    tokio::spawn(pass_on(run, id, first, sender));
    let mut response = Response::new(Body::new(Events(receiver)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    response
}

/// Passes on what the run says, until its end or until nobody listens. Then the run is dropped, which ends it.
async fn pass_on<R: Sessions>(
    mut run: Run<R>,
    id: String,
    mut first: Option<Event>,
    events: mpsc::Sender<Bytes>,
) {
    let Ok(begin) = event("run", &json!({ "id": id })) else { return };
    if events.send(begin).await.is_err() {
        return;
    }
    loop {
        let next = match first.take() {
            Some(first) => Some(first),
            None => tokio::select! {
                next = run.next() => next,
                () = events.closed() => return,
                () = tokio::time::sleep(BEAT) => {
                    if events.send(Bytes::from_static(b": still under way\n\n")).await.is_err() {
                        return;
                    }
                    continue;
                }
            },
        };
        let told = match next {
            Some(Event::Output(stream, text)) => {
                event("output", &json!({ "stream": stream, "text": text }))
            }
            Some(Event::Call(call)) => event("call", &call),
            Some(Event::Ended(ended)) => {
                let (name, data) = match run.end(ended).await {
                    Ok(outcome) => ("outcome", outcome),
                    Err(problem) => {
                        run.count(&problem);
                        ("failed", problem.json().into())
                    }
                };
                for piece in pieces(name, data) {
                    if events.send(piece).await.is_err() {
                        return;
                    }
                }
                return;
            }
            None => return,
        };
        let Ok(told) = told else { return };
        if events.send(told).await.is_err() {
            return;
        }
    }
}

fn event(name: &str, data: &impl Serialize) -> io::Result<Bytes> {
    let mut text = head(name);
    line::append(&mut text, data)?;
    text.extend_from_slice(END);
    Ok(text.into())
}

/// What stands before the data of an event, which are one line, and after it.
fn head(name: &str) -> Vec<u8> {
    format!("event: {name}\ndata: ").into_bytes()
}

/// One event. Data that are long, which others hold too, are not copied.
fn pieces(name: &str, data: Bytes) -> Vec<Bytes> {
    let mut text = head(name);
    if data.len() > SHORT {
        return vec![text.into(), data, Bytes::from_static(END)];
    }
    text.extend_from_slice(&data);
    text.extend_from_slice(END);
    vec![text.into()]
}

const END: &[u8] = b"\n\n";

/// Events as a body.
struct Events(mpsc::Receiver<Bytes>);

impl HttpBody for Events {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.0.poll_recv(context).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
