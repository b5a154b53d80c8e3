//! What a run comes to, as its caller is told.

use carboy_protocol::{GuestResult, Isolation, Limits, Outcome, Status, Usage};

use crate::admit::language;
use crate::run::Record;
use crate::verdict::{self, Given};

/// The outcome of a run, from what was recorded of it.
pub(crate) fn outcome(
    id: String,
    queue_ms: f64,
    record: Record,
    limits: &Limits,
    code: &str,
    given: &Given,
    isolation: Isolation,
) -> Outcome {
    let exit = record.facts.exit;
    let usage = Usage {
        queue_ms,
        wall_ms: record.wall.as_secs_f64() * 1e3,
        cpu_ms: exit.cpu_us.saturating_sub(record.facts.cpu_before_us) as f64 / 1e3,
        peak_memory_bytes: exit.peak_memory_bytes,
    };
    let said_by_guard = language::refused_in_run(&record.ending);
    let decided = verdict::decide(record.ending, &record.facts, &record.refused, limits);
    let (answer, error) = match decided {
        Ok(answer) => (answer, None),
        Err(mut error) => {
            verdict::advise(&mut error, code, given);
            (GuestResult::default(), Some(*error))
        }
    };
    let (mut denials, probes) = verdict::divide(record.tried, error.as_ref(), record.wall);
    denials.extend(said_by_guard);
    Outcome {
        id,
        status: if error.is_none() { Status::Ok } else { Status::Error },
        result: answer.result,
        result_type: answer.type_name,
        result_text: answer.text,
        result_note: answer.note,
        displays: record.displays,
        display_note: record.display_note,
        error,
        stdout: record.stdout,
        stderr: record.stderr,
        denials,
        probes,
        tool_calls: record.tool_calls,
        usage,
        isolation,
        artifacts: record.left.artifacts,
        artifacts_left_out: record.left.left_out,
    }
}
