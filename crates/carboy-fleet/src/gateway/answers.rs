//! Answers of the caller's tools on their way to the node: numbered, and kept until the node has them.

use bytes::Bytes;
use carboy_engine::Answer;
use carboy_protocol::{ToolFault, ToolFaultKind};

use super::attempt::Attempt;
use super::caller::Caller;
use super::under_way::way;
use crate::bus::Bus;
use crate::message::{MAX_ASK, Said, pieces, written};
use crate::name::Verb;

impl<B: Bus> Attempt<'_, B> {
    pub(super) async fn answer(&mut self, answer: Answer) {
        let number = self.answered;
        let Answer { call, result } = answer;
        let (error, body) = match &result {
            Ok(Some(value)) if value.get().len() > MAX_ASK => {
                let message = format!("the answer is larger than nodes are sent ({MAX_ASK} bytes)");
                (Some(ToolFault { kind: ToolFaultKind::Tool, message }), "")
            }
            Ok(Some(value)) => (None, value.get()),
            Ok(None) => (None, ""),
            Err(fault) => (Some(fault.clone()), ""),
        };
        let body = Bytes::copy_from_slice(body.as_bytes());
        let mut before = pieces(body, self.entry.shared.bus.max_payload());
        let last = before.pop().unwrap_or_default();
        let mut says: Vec<Bytes> = (0..)
            .zip(&before)
            .map(|(piece, part)| written(&self.said(Said::AnswerPiece { number, piece }), part))
            .collect();
        let pieces = says.len() as u32;
        says.push(written(&self.said(Said::Answer { number, call, error, pieces }), &last));
        self.answered += 1;
        let bytes = says.iter().map(Bytes::len).sum();
        self.entry.shared.state().make_room(bytes);
        self.answers.push_back((number, says.clone()));
        self.on_their_way(bytes);
        for say in says {
            self.publish(Verb::Say, None, say).await.ok();
        }
    }

    /// So many bytes of answers were sent. Until they can have arrived they are not missing.
    fn on_their_way(&mut self, bytes: usize) {
        let now = self.entry.shared.config.clock.now();
        self.answers_until = self.answers_until.max(now) + way(bytes);
    }

    /// Sends answers that the node has not.
    pub(super) async fn answer_again(&mut self, caller: &Caller) {
        if self.entry.shared.config.clock.now() >= self.answers_until {
            let says: Vec<Bytes> = self.answers.iter().flat_map(|(_, says)| says.clone()).collect();
            self.on_their_way(says.iter().map(Bytes::len).sum());
            for say in says {
                self.publish(Verb::Say, None, say).await.ok();
            }
        }
        if self.ask.tools && caller.answers.is_none() {
            self.say(Said::NoMoreAnswers {}, &[]).await;
        }
        if caller.is_stopped {
            self.say(Said::Stop {}, &[]).await;
        }
    }
}
