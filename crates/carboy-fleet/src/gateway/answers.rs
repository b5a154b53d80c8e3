//! Answers of the caller's tools on their way to the node: numbered, and kept until the node has them.

use carboy_engine::Answer;
use carboy_protocol::{ToolFault, ToolFaultKind};

use super::attempt::Attempt;
use super::caller::Caller;
use crate::bus::Bus;
use crate::message::{HEAD_ROOM, Said, written};
use crate::name::Verb;

impl<B: Bus> Attempt<'_, B> {
    pub(super) async fn answer(&mut self, answer: Answer) {
        let most = self.entry.shared.bus.max_payload().saturating_sub(HEAD_ROOM);
        let number = self.answered;
        let Answer { call, result } = answer;
        let (error, body) = match &result {
            Ok(Some(value)) if value.get().len() > most => {
                let message = format!("the answer is larger than a message may be ({most} bytes)");
                (Some(ToolFault { kind: ToolFaultKind::Tool, message }), "")
            }
            Ok(Some(value)) => (None, value.get()),
            Ok(None) => (None, ""),
            Err(fault) => (Some(fault.clone()), ""),
        };
        let what = Said::Answer { number, call, error };
        let say = written(&self.said(what), body.as_bytes());
        self.answered += 1;
        self.entry.shared.state().make_room(say.len());
        self.answers.push_back((number, say.clone()));
        self.publish(Verb::Say, None, say).await.ok();
    }

    /// Sends answers that the node has not.
    pub(super) async fn answer_again(&mut self, caller: &Caller) {
        for (_, say) in &self.answers {
            self.publish(Verb::Say, None, say.clone()).await.ok();
        }
        if self.ask.tools && caller.answers.is_none() {
            self.say(Said::NoMoreAnswers {}, &[]).await;
        }
        if caller.is_stopped {
            self.say(Said::Stop {}, &[]).await;
        }
    }
}
