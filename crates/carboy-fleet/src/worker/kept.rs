//! One run on a node, as the gateway that asked for it is told of it: what was said, what of it was taken, and where to say more.
//!
//! A message can be lost. So what a run said is kept until the gateway has taken it, and is said again when it asks. After
//! the end it is kept for some time, and a run that is asked for a second time is answered from here and not run.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use carboy_engine::Answer;
use tokio::sync::{Notify, mpsc, oneshot};

use crate::message::{Event, MAX_ASK, PROBE, WINDOW_BYTES, WINDOW_EVENTS, What, written};
use crate::nodes::Hint;

/// How a run on this node stands.
pub(super) struct Kept {
    pub id: String,
    pub state: std::sync::Mutex<State>,
    /// Some of what was said was taken, or nobody listens any more.
    pub room: Notify,
}

pub(super) struct State {
    /// Who asked for it.
    pub gateway: String,
    /// Where it is told.
    pub reply: String,
    /// The number of the next event.
    next: u64,
    /// What was said and is not taken, in order.
    said: VecDeque<(What, Bytes)>,
    bytes: usize,
    /// How many answers came.
    answers: u64,
    pub answer: Option<mpsc::Sender<Answer>>,
    /// Of the next answer, if it comes in pieces: how many came, and what is in them.
    pieces: (u32, BytesMut),
    pub stop: Option<oneshot::Sender<()>>,
    pub abort: Option<tokio::task::AbortHandle>,
    pub phase: Phase,
    /// The last word was said when the node was about to leave, which it does not before that was taken.
    is_awaited: bool,
    /// When its gateway said something of it.
    pub heard: Duration,
    /// How long after that it is ended, if it has not ended by itself.
    pub bound: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Running,
    /// It said its last word.
    Over,
    /// It was over, and there was no more room to keep what it said.
    Forgotten,
}

impl Kept {
    pub fn new(id: String, gateway: String, reply: String, now: Duration) -> Kept {
        let state = State {
            gateway,
            reply,
            next: 0,
            said: VecDeque::new(),
            bytes: 0,
            answers: 0,
            answer: None,
            pieces: (0, BytesMut::new()),
            stop: None,
            abort: None,
            phase: Phase::Running,
            is_awaited: false,
            heard: now,
            bound: None,
        };
        Kept { id, state: std::sync::Mutex::new(state), room: Notify::new() }
    }

    pub fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Writes an event of this run.
    pub fn event(&self, hint: Hint, answers: u64, what: What, body: &[u8]) -> Bytes {
        written(&Event { run: self.id.clone(), hint, answers, what }, body)
    }

    /// Says something as soon as there is room for it, and gives the message with the place where it goes. Nothing if nobody
    /// listens any more.
    pub async fn say(
        &self,
        what: impl Fn(u64) -> What,
        body: Bytes,
        hint: impl Fn() -> Hint,
    ) -> Option<(String, Bytes)> {
        loop {
            let freed = self.room.notified();
            {
                let mut state = self.state();
                if state.phase == Phase::Forgotten {
                    return None;
                }
                if state.has_room(body.len()) {
                    let what = what(state.next);
                    let is_last = matches!(what, What::Outcome { .. } | What::Failed { .. });
                    let hint = hint();
                    if is_last {
                        state.phase = Phase::Over;
                        state.is_awaited = hint.draining;
                    }
                    let message = self.event(hint, state.answers, what.clone(), &body);
                    state.next += 1;
                    state.bytes += body.len();
                    state.said.push_back((what, body));
                    return Some((state.reply.clone(), message));
                }
            }
            freed.await;
        }
    }

    /// What a gateway that has the events before `next` is told again, where it asked.
    pub fn again(&self, ask: (String, String), next: u64, hint: Hint) -> Vec<Bytes> {
        let mut state = self.state();
        let (gateway, reply) = ask;
        // What was taken is not kept, and who took it does not mean it: its question was overtaken by what it said later.
        let is_other = attempt_of(&state.reply) != attempt_of(&reply);
        (state.gateway, state.reply) = (gateway, reply);
        state.take(next);
        let first = state.next - state.said.len() as u64;
        if state.phase == Phase::Forgotten || is_other && next < first {
            return vec![self.event(hint, state.answers, What::Forgotten {}, &[])];
        }
        let running = What::Running { next: state.next };
        let mut messages = vec![self.event(hint, state.answers, running, &[])];
        messages.extend(
            state
                .said
                .iter()
                .map(|(what, body)| self.event(hint, state.answers, what.clone(), body)),
        );
        drop(state);
        self.room.notify_waiters();
        messages
    }

    /// A gateway took what was said before `next`.
    pub fn took(&self, next: u64) {
        self.state().take(next);
        self.room.notify_waiters();
    }

    /// An answer came. One that came before is dropped, and so is one that came too early: it is sent again.
    pub fn answered(&self, number: u64, answer: Answer) {
        let mut state = self.state();
        if number == state.answers {
            state.answers += 1;
            if let Some(answers) = &state.answer {
                // There is room for every call that waits; what does not fit answers none.
                answers.try_send(answer).ok();
            }
        }
    }

    /// Lets go of what it said. Gives the number of bytes.
    pub fn forget(&self) -> usize {
        let mut state = self.state();
        state.phase = Phase::Forgotten;
        state.said.clear();
        std::mem::take(&mut state.bytes)
    }

    /// Whether a node that is about to leave waits for a gateway to take its last word.
    pub fn is_awaited(&self) -> bool {
        let state = self.state();
        state.is_awaited && !state.said.is_empty()
    }

    /// Bytes that are kept of it.
    pub fn bytes(&self) -> usize {
        self.state().bytes
    }
}

impl State {
    /// Whether this is said by the attempt that was told of it last. One of another, which is given up, means nothing.
    pub fn is_of(&self, attempt: &str) -> bool {
        attempt.is_empty() || attempt == attempt_of(&self.reply)
    }

    /// Whether it should have ended long ago.
    pub fn is_overdue(&self, now: Duration) -> bool {
        let is_late = |bound| now.saturating_sub(self.heard) >= bound;
        self.phase == Phase::Running && self.bound.is_some_and(is_late)
    }

    /// A piece of an answer came. One that is not the next makes what came before it useless.
    pub fn answer_piece(&mut self, number: u64, piece: u32, body: &Bytes) {
        if number != self.answers {
            return;
        }
        if piece == 0 {
            self.pieces = (0, BytesMut::new());
        }
        let (next, whole) = &mut self.pieces;
        if piece == *next && whole.len() + body.len() <= MAX_ASK {
            whole.extend_from_slice(body);
            *next += 1;
        } else {
            self.pieces = (0, BytesMut::new());
        }
    }

    /// The answer with the pieces before it, of which there are so many; none if one is missing.
    pub fn whole_answer(&mut self, number: u64, pieces: u32, last: Bytes) -> Option<Bytes> {
        if pieces == 0 || number != self.answers {
            return Some(last);
        }
        let (count, mut whole) = std::mem::take(&mut self.pieces);
        whole.extend_from_slice(&last);
        (count == pieces).then(|| whole.freeze())
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.said.is_empty()
            || (self.said.len() as u64) < WINDOW_EVENTS && self.bytes + bytes <= WINDOW_BYTES
    }

    fn take(&mut self, next: u64) {
        while let Some((what, body)) = self.said.front() {
            if what.number().is_none_or(|number| number >= next) {
                break;
            }
            self.bytes -= body.len();
            self.said.pop_front();
        }
    }
}

/// The part of a reply subject that all questions of one attempt have.
fn attempt_of(reply: &str) -> &str {
    reply.strip_suffix(PROBE).unwrap_or(reply)
}
