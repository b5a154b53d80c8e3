//! Calls of the caller's tools: what a run may call, how often, and what its waiting does to the
//! deadline.
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
use crate::runner::{Answer, Call, IN_FLIGHT, ToolHost};

/// How many bytes of arguments may wait with them.
const IN_FLIGHT_BYTES: usize = 4 << 20;

/// When a run is over, and how calls put that off.
///
/// A call that has a budget stops the clock until it is answered or the budget is used up. Calls
/// that wait at the same time stop it together, not one after the other.
#[derive(Debug)]
pub(crate) struct Deadline {
    at: Moment,
    /// Until when each waiting call may stop the clock.
    stopping: HashMap<u64, Moment>,
    stopped: Option<Moment>,
}

impl Deadline {
    pub fn new(at: Moment) -> Deadline {
        Deadline { at, stopping: HashMap::new(), stopped: None }
    }

    /// When it is over, unless a call is answered or made before.
    pub fn at(&self) -> Moment {
        match (self.stopped, self.stopping.values().max()) {
            (Some(since), Some(until)) => self.at + until.saturating_duration_since(since),
            _ => self.at,
        }
    }

    fn call(&mut self, call: u64, budget: Duration, now: Moment) {
        self.settle(now);
        if !budget.is_zero() {
            self.stopping.insert(call, now + budget);
            self.stopped = Some(now);
        }
    }

    fn answered(&mut self, call: u64, now: Moment) {
        self.settle(now);
        self.stopping.remove(&call);
        if self.stopping.values().all(|until| *until <= now) {
            self.stopped = None;
        }
    }

    /// Puts the end off by how long the clock has stood still.
    fn settle(&mut self, now: Moment) {
        let Some(since) = self.stopped else { return };
        let until = self.stopping.values().max().copied().unwrap_or(since);
        self.at += until.min(now).saturating_duration_since(since);
        self.stopped = (now < until).then_some(now);
    }
}

struct Waiting {
    since: Moment,
    bytes: usize,
    /// Its place among the calls that were made.
    place: usize,
}

/// The calls of one run.
pub(crate) struct Tools<'a> {
    offered: &'a [Tool],
    most: u64,
    /// How much more JSON calls may bring as arguments.
    bytes_left: u64,
    host: Option<ToolHost>,
    waiting: HashMap<u64, Waiting>,
    /// Calls that the caller had no room for yet.
    unsent: VecDeque<Call>,
    made: Vec<ToolCall>,
    pub deadline: Deadline,
}

impl<'a> Tools<'a> {
    pub fn new(
        offered: &'a [Tool],
        limits: &Limits,
        host: Option<ToolHost>,
        deadline: Moment,
    ) -> Tools<'a> {
        Tools {
            offered,
            most: limits.tool_calls,
            bytes_left: limits.tool_bytes,
            host,
            waiting: HashMap::new(),
            unsent: VecDeque::new(),
            made: vec![],
            deadline: Deadline::new(deadline),
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
    pub fn take(&mut self, call: Call) -> Option<Ending> {
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
        self.deadline.call(call.call, Duration::from_millis(tool.budget_ms), now);
        self.waiting.insert(call.call, Waiting { since: now, bytes, place: self.made.len() });
        let tool = tool.name.clone();
        self.made.push(ToolCall { tool, status: CallStatus::Unanswered, wall_ms: 0.0 });
        self.unsent.push_back(call);
        None
    }

    /// Waits until the caller takes a call or gives an answer. Returns what the jar is to read.
    pub async fn exchange(&mut self) -> Option<Vec<u8>> {
        let Some(host) = &mut self.host else {
            // Nobody answers any more, so each call is told that.
            self.unsent.clear();
            let Some(call) = self.waiting.keys().next().copied() else {
                return std::future::pending().await;
            };
            let message = "nobody answers the calls of this run any more".into();
            let fault = ToolFault { kind: ToolFaultKind::Tool, message };
            return self.answered(Answer { call, result: Err(fault) });
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
        self.answered(answer?)
    }

    fn answered(&mut self, answer: Answer) -> Option<Vec<u8>> {
        let waited = self.waiting.remove(&answer.call)?;
        let now = Moment::now();
        self.deadline.answered(answer.call, now);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_puts_the_end_off_by_its_own_time_and_never_by_more_than_its_budget() {
        let start = Moment::now();
        let ms = Duration::from_millis;
        let after = |deadline: &Deadline| (deadline.at() - start).as_millis();
        let mut deadline = Deadline::new(start + ms(100));
        // Without a budget nothing is put off.
        deadline.call(1, ms(0), start);
        assert_eq!(after(&deadline), 100);
        deadline.answered(1, start + ms(10));
        assert_eq!(after(&deadline), 100);
        // While it waits, all of its budget may come; what it took is what counts.
        deadline.call(2, ms(50), start + ms(20));
        assert_eq!(after(&deadline), 150);
        deadline.answered(2, start + ms(50));
        assert_eq!(after(&deadline), 130);
        // Two at once stop the clock together.
        deadline.call(3, ms(40), start + ms(60));
        deadline.call(4, ms(40), start + ms(70));
        assert_eq!(after(&deadline), 180);
        deadline.answered(3, start + ms(80));
        deadline.answered(4, start + ms(90));
        assert_eq!(after(&deadline), 160);
        // One that takes longer than its budget runs on the run's time from then on.
        deadline.call(5, ms(10), start + ms(100));
        assert_eq!(after(&deadline), 170);
        deadline.answered(5, start + ms(150));
        assert_eq!(after(&deadline), 170);
        // A budget that is used up stops nothing for the next call.
        deadline.call(6, ms(10), start + ms(155));
        deadline.call(7, ms(0), start + ms(169));
        assert_eq!(after(&deadline), 180);
    }
}
