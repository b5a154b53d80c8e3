//! Calls of the caller's tools: what a run may call, how often, and what became of it.
//!
//! A jar asks by a frame, the caller is told, and its answer goes back as a frame. The names are
//! those that the job offered; arguments and answers are JSON that was looked at before it is passed
//! on. A jar that does not read its answers gets no more calls through.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use carboy_protocol::frame;
use carboy_protocol::json::{self, MAX_DEPTH};
use carboy_protocol::{
    CallStatus, Job, LimitName, Limits, ToJar, Tool, ToolCall, ToolFault, ToolFaultKind,
};
use serde_json::value::RawValue;
use tokio::time::Instant as Moment;

use crate::facts::Ending;
use crate::run::deadline::Deadline;
use crate::runner::{Answer, Call, IN_FLIGHT, ToolHost};

/// How many bytes of arguments may wait with them.
const IN_FLIGHT_BYTES: usize = 4 << 20;

struct Waiting {
    since: Moment,
    bytes: usize,
    /// Its place among the calls that were made.
    place: usize,
}

/// The calls of one run.
pub(super) struct Tools<'a> {
    offered: &'a [Tool],
    most: u64,
    /// How much more JSON calls may bring as arguments.
    bytes_left: u64,
    host: Option<ToolHost>,
    waiting: HashMap<u64, Waiting>,
    /// Calls that the caller had no room for yet.
    unsent: VecDeque<Call>,
    made: Vec<ToolCall>,
}

impl<'a> Tools<'a> {
    pub fn new(offered: &'a [Tool], limits: &Limits, host: Option<ToolHost>) -> Tools<'a> {
        Tools {
            offered,
            most: limits.tool_calls,
            bytes_left: limits.tool_bytes,
            host,
            waiting: HashMap::new(),
            unsent: VecDeque::new(),
            made: vec![],
        }
    }

    /// Whether another call may come, with this many answers that the jar has not read yet.
    pub fn has_room(&self, unread: usize) -> bool {
        let bytes: usize = self.waiting.values().map(|waiting| waiting.bytes).sum();
        let few = self.waiting.len() + unread < IN_FLIGHT;
        // One alone may be as long as a result.
        few && (bytes < IN_FLIGHT_BYTES || self.waiting.len() <= 1)
    }

    /// Takes a call from the jar; an end if it may not be.
    pub fn take(&mut self, call: Call, deadline: &mut Deadline) -> Option<Ending> {
        let broken = |what: &str| Some(Ending::BrokenFrame(what.into()));
        let Some(tool) = self.offered.iter().find(|tool| tool.name == call.tool) else {
            return broken("it called a tool that it was not offered");
        };
        if !call.args.get().starts_with('[') || !call.kwargs.get().starts_with('{') {
            return broken("it called a tool with something other than arguments");
        }
        if self.waiting.contains_key(&call.call) {
            return broken("it made two calls under one number");
        }
        if self.made.len() as u64 >= self.most {
            return Some(Ending::Limit(LimitName::ToolCalls));
        }
        let bytes = call.args.get().len() + call.kwargs.get().len();
        let Some(left) = self.bytes_left.checked_sub(bytes as u64) else {
            return Some(Ending::Limit(LimitName::ToolBytes));
        };
        self.bytes_left = left;
        let now = Moment::now();
        deadline.call(call.call, Duration::from_millis(tool.budget_ms), now);
        self.waiting.insert(call.call, Waiting { since: now, bytes, place: self.made.len() });
        let tool = tool.name.clone();
        self.made.push(ToolCall { tool, status: CallStatus::Unanswered, wall_ms: 0.0 });
        self.unsent.push_back(call);
        None
    }

    /// Waits until the caller takes a call or gives an answer. Returns what the jar is to read.
    pub async fn exchange(&mut self, deadline: &mut Deadline) -> Option<Vec<u8>> {
        let Some(host) = &mut self.host else {
            // Nobody answers any more, so each call is told that.
            self.unsent.clear();
            let Some(call) = self.waiting.keys().next().copied() else {
                return std::future::pending().await;
            };
            let message = "nobody answers the calls of this run any more".into();
            let fault = ToolFault { kind: ToolFaultKind::Tool, message };
            return self.answered(Answer { call, result: Err(fault) }, deadline);
        };
        let answer = tokio::select! {
            answer = host.answers.recv() => answer,
            room = host.calls.reserve(), if !self.unsent.is_empty() => {
                match (room, self.unsent.pop_front()) {
                    (Ok(room), Some(call)) => {
                        room.send(call);
                        return None;
                    }
                    _ => None,
                }
            }
        };
        if answer.is_none() {
            self.host = None;
        }
        self.answered(answer?, deadline)
    }

    fn answered(&mut self, answer: Answer, deadline: &mut Deadline) -> Option<Vec<u8>> {
        let waited = self.waiting.remove(&answer.call)?;
        let now = Moment::now();
        deadline.answered(answer.call, now);
        let made = &mut self.made[waited.place];
        let result = answer.result.and_then(|value| usable(&made.tool, value));
        made.status = if result.is_ok() { CallStatus::Ok } else { CallStatus::Error };
        made.wall_ms = (now - waited.since).as_secs_f64() * 1e3;
        let (result, error) = match result {
            Ok(value) => (value, None),
            Err(fault) => (None, Some(fault)),
        };
        let message = ToJar::Answer { call: answer.call, result, error };
        // Both can only fail for what is longer than any answer.
        let body = serde_json::to_vec(&message).ok()?;
        frame::encode(&body).ok()
    }

    /// Every call that was made.
    pub fn made(mut self) -> Vec<ToolCall> {
        for waiting in self.waiting.values() {
            self.made[waiting.place].wall_ms = waiting.since.elapsed().as_secs_f64() * 1e3;
        }
        self.made
    }
}

/// A value that a jar can read, or what is wrong with it.
fn usable(tool: &str, value: Option<Box<RawValue>>) -> Result<Option<Box<RawValue>>, ToolFault> {
    let Some(value) = value else { return Ok(None) };
    let why = if value.get().len() > Job::MAX_INPUT {
        format!("it has more than {} bytes", Job::MAX_INPUT)
    } else {
        match json::check(value.get().as_bytes(), MAX_DEPTH) {
            Ok(()) => return Ok(Some(value)),
            Err(fault) => fault.to_string(),
        }
    };
    let message = format!("what {tool} returned cannot be used: {why}");
    Err(ToolFault { kind: ToolFaultKind::Tool, message })
}
