//! The end of a run: the last look at the jar, its end, and what is still in its pipes.

use std::collections::BTreeMap;
use std::time::Duration;

use carboy_protocol::{Display, LimitName, Output, ToolCall};

use crate::error::EngineError;
use crate::facts::{Ending, Facts, Refused, Tried};
use crate::run::meter::Last;
use crate::run::watch::{PIECE, Watch, read_now};
use crate::runner::Stream;
use crate::tier::{Jar, Left};

/// Everything a run left behind, for the verdict and the outcome.
pub(crate) struct Record {
    pub ending: Ending,
    pub facts: Facts,
    pub refused: Refused,
    pub tried: BTreeMap<&'static str, Tried>,
    pub stdout: Output,
    pub stderr: Output,
    pub wall: Duration,
    pub tool_calls: Vec<ToolCall>,
    pub left: Left,
    pub displays: Vec<Display>,
    pub display_note: Option<String>,
    /// What the jar has not read of a frame whose beginning it has.
    pub owed: Vec<u8>,
}

impl<J: Jar> Watch<'_, J> {
    /// Looks at the jar while it is there, and ends it.
    ///
    /// It is killed, always, unless it holds a session and answered. One that gave its answer and had no children
    /// is known by what it used up to then, and nobody waits for its end, because taking a process down takes
    /// longer than most runs. If it left no file either, it is left to whoever buries it. If it may have, it is
    /// killed now, and what it left is collected when nothing in it runs any more. Any other is killed now and
    /// waited for, because how it ended is the cause.
    ///
    /// An answer counts only if no limit was crossed by the time it came: between two measurements a
    /// guest can take what it likes.
    pub async fn finish(mut self, ending: Ending, wall: Duration) -> Result<Record, EngineError> {
        let Last { mut facts, is_known, untouched, over } =
            self.meter.last(self.jar, &ending).await;
        let ending = match (over, ending) {
            (Some(name), Ending::Said(_)) => Ending::Limit(name),
            (_, decided) => decided,
        };
        let left_alive = is_known && untouched;
        let is_kept = is_known && self.jar.outlives_run();
        if !left_alive && !is_kept {
            self.jar.kill();
        }
        let ending = self.drain(ending).await;
        let mut left = Left::default();
        if !is_known {
            let together_us = self.meter.cpu_together_us(self.jar);
            let seen_us = facts.exit.cpu_us;
            facts.exit = self.jar.exit().await?;
            // Only a control group knows of children that nobody waited for.
            let together_us = together_us.map_or(0, |used| facts.cpu_before_us + used);
            facts.exit.cpu_us = facts.exit.cpu_us.max(together_us).max(seen_us);
            facts.out_of_memory = self.jar.ran_out_of_memory();
        }
        if !left_alive {
            left = self.jar.artifacts(self.run, &self.artifacts, self.limits).await?;
        }
        let (stdout, stderr) = self.stdio.outputs().await;
        let (displays, display_note) = self.displays.shown();
        Ok(Record {
            ending,
            facts,
            refused: self.refusals.refused.clone(),
            tried: self.refusals.tried(),
            stdout,
            stderr,
            wall,
            tool_calls: self.tools.made(),
            left,
            displays,
            display_note,
            owed: self.speech.owed(),
        })
    }

    /// Reads what the jar had written before it ended. Never waits for more: what is not in the pipes
    /// now is nobody's. A jar that was left alive because it had answered is hushed if there is
    /// anything, so that it cannot go on writing while that is handed on.
    async fn drain(&mut self, ending: Ending) -> Ending {
        let mut piece = [0; PIECE];
        if self.stdio.is_waiting() {
            self.jar.hush();
        }
        for stream in [Stream::Stdout, Stream::Stderr] {
            loop {
                let io = self.jar.io();
                let pipe = match stream {
                    Stream::Stdout => &io.stdout,
                    Stream::Stderr => &io.stderr,
                };
                let Ok(count @ 1..) = read_now(pipe, &mut piece) else { break };
                self.jar.hush();
                self.stdio.hand_on().await;
                if self.stdio.wrote(stream, &piece[..count]) {
                    self.stdio.hand_on().await;
                    return match ending {
                        Ending::Said(_) | Ending::Gone => Ending::Limit(LimitName::PrintedBytes),
                        decided => decided,
                    };
                }
            }
        }
        self.stdio.hand_on().await;
        ending
    }
}
