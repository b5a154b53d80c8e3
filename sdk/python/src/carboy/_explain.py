"""Outcomes as text: a line for people, and the whole story for a language model.

The guest's own words stand in quotes or behind a bar, so that they cannot pass for ours.
"""

from __future__ import annotations

import json

from ._record import Denial, Error, Record
from ._visible import beginning, ending, one_line, shown, visible

_MOST_DENIALS = 20
_MOST_OUTPUT = 4_000
_MOST_TRACEBACK = 4_000
_MOST_RESULT = 8_000


def milliseconds(time: float) -> str:
    """A time as people read it."""
    if time >= 10_000:
        return f"{time / 1000:.1f} s"
    return f"{time:.1f} ms"


def size(count: int) -> str:
    """A number of bytes as people read it."""
    if count < 1 << 10:
        return f"{count} bytes"
    for unit, shift in (("KiB", 10), ("MiB", 20), ("GiB", 30)):
        if count < 1 << (shift + 10) or unit == "GiB":
            text = f"{count / (1 << shift):.1f}"
            return f"{text.removesuffix('.0')} {unit}"
    raise AssertionError


def happened(error: Error) -> str:
    """What went wrong and where, on one line."""
    what = f"{error.kind} {error.type if error.limit is None else error.limit.name}"
    where = f" at line {error.line}" if error.line is not None else ""
    message = one_line(error.message)
    return f"{one_line(what, 200)}{where}: {message}" if message else one_line(what, 200) + where


def refusal(denial: Denial, said: str | None = None) -> str:
    """What was refused, how often, and what to write instead if that was not said, on one line."""
    often = f", {denial.count} times" if denial.count != 1 else ""
    where = f", line {denial.line}" if denial.line is not None else ""
    what = one_line(denial.what, 200)
    refused = f"{what} ({denial.layer}{often}{where})"
    return refused if denial.hint == said else f"{refused}: {one_line(denial.hint)}"


def _more(outcome: Record) -> list[str]:
    """What to do, and what was refused."""
    hint = outcome.error.hint if outcome.error is not None else None
    lines = [f"hint: {one_line(hint)}"] if hint else []
    other = outcome.error.operator_hint if outcome.error is not None else None
    lines += [f"hint for whoever sets the policy: {one_line(other)}"] if other else []
    return lines + [f"denied: {one}" for one in refusals(outcome)]


def refusals(outcome: Record) -> list[str]:
    """What was refused, each on one line."""
    hint = outcome.error.hint if outcome.error is not None else None
    lines = [refusal(denial, hint) for denial in outcome.denials[:_MOST_DENIALS]]
    if len(outcome.denials) > _MOST_DENIALS:
        lines.append(f"{len(outcome.denials) - _MOST_DENIALS} more")
    return lines


def summary(outcome: Record) -> str:
    """An outcome in a few lines."""
    if outcome.error is None:
        words = [f"Outcome({outcome.status}", f"result={shown(outcome.result, 500)}"]
        if outcome.result_text is not None:
            words.append(f"result_text={shown(outcome.result_text, 500)}")
        if outcome.result_note is not None:
            words.append(f"result_note={shown(outcome.result_note, 500)}")
    else:
        words = [f"Outcome({outcome.status}", happened(outcome.error)]
    for name, text in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if text:
            words.append(f"{name}={shown(text, 200)}")
    words.append(f"{milliseconds(outcome.usage.wall_ms)})")
    return "\n  ".join([", ".join(words), *_more(outcome)])


def summary_of_error(outcome: Record) -> str:
    """Why an outcome is not ok: what, where and what to do."""
    if outcome.error is None:
        return f"the run ended with the status {outcome.status}"
    return "\n".join([happened(outcome.error), *_more(outcome)])


def _quoted(title: str, text: str, most: int, truncated: bool = False) -> list[str]:
    """The guest's own text, each line behind a bar."""
    title, kept = titled(title, text, most, truncated)
    return [f"{title}:"] + [f"| {line}" for line in kept.removesuffix("\n").split("\n")]


def titled(title: str, text: str, most: int, truncated: bool) -> tuple[str, str]:
    """The end of a text of the guest's, and its title with a note on what is left out."""
    kept, note = ending(text, most)
    if truncated:
        note = f"{note}; the code wrote more" if note else "cut; the code wrote more"
    return f"{title} ({note})" if note else title, kept


def _answer(outcome: Record) -> list[str]:
    """What the code answered, and how."""
    if outcome.result_text is not None:
        lines = _quoted(f"result, {_kind(outcome)} as text", outcome.result_text, _MOST_OUTPUT)
    elif outcome.result is not None:
        kind = f" from {_kind(outcome)}" if outcome.result_type is not None else ""
        lines = [f"result{kind}:", f"| {shown_json(outcome.result)}"]
    elif outcome.stdout:
        lines = ["It answered by printing: what it wrote is below. `result` was not set."]
    else:
        lines = ["It answered nothing: assign to `result`, or end with an expression."]
    note = outcome.result_note
    return lines + ([f"note: {one_line(note)}"] if note is not None else [])


def _kind(outcome: Record) -> str:
    return shown(outcome.result_type or "object", 200)


def explanation(outcome: Record) -> str:
    """Everything about an outcome that somebody could act on."""
    error = outcome.error
    if error is None:
        lines = ["The code ran to its end." if outcome.ok else f"status: {outcome.status}"]
        lines += _answer(outcome)
    else:
        lines = ["The code did not run to its end.", f"error: {happened(error)}"]
    lines += _more(outcome)
    if error is not None and error.traceback:
        lines += _quoted("traceback", error.traceback, _MOST_TRACEBACK)
    if outcome.stdout:
        lines += _quoted("stdout", outcome.stdout, _MOST_OUTPUT, outcome.stdout_truncated)
    if outcome.stderr:
        lines += _quoted("stderr", outcome.stderr, _MOST_OUTPUT, outcome.stderr_truncated)
    failed = [call for call in outcome.tool_calls if call.status != "ok"]
    if failed:
        names = sorted({f"{call.tool} ({call.status})" for call in failed})
        lines.append(f"tool calls without a value: {beginning(', '.join(names), 500)}")
    if outcome.displays:
        lines.append(
            f"shown: {', '.join(one_line(one.media_type, 100) for one in outcome.displays)}"
        )
    if outcome.display_note:
        lines.append(f"not shown: {one_line(outcome.display_note)}")
    if outcome.artifacts:
        files = [f"{one_line(file.path, 100)} ({size(file.bytes)})" for file in outcome.artifacts]
        left = f" and {len(files) - 10} more" if len(files) > 10 else ""
        lines.append(f"files left behind: {', '.join(files[:10])}{left}")
    for out in outcome.artifacts_left_out[:5]:
        more = f" and {out.count - 1} more" if out.count > 1 else ""
        first = one_line(out.paths[0], 100) if out.paths else ""
        lines.append(f"not among them: {first}{more}: {one_line(out.message, 300)}")
    if error is not None and error.limit is not None:
        lines.append(f"limit: {error.limit.name}, allowed {error.limit.allowed}")
    usage = outcome.usage
    lines.append(
        f"used: {milliseconds(usage.wall_ms)} on the clock, {milliseconds(usage.cpu_ms)} of "
        f"processor time, {size(usage.peak_memory_bytes)} of memory"
    )
    return "\n".join(lines)


def shown_json(value: object) -> str:
    """A result as JSON, all of it if it is short."""
    pieces, length = [], 0
    # Written piece by piece: a large result is not written out to be cut.
    for piece in json.JSONEncoder(ensure_ascii=False).iterencode(value):
        pieces.append(piece[: _MOST_RESULT + 1])
        length += len(piece)
        if length > _MOST_RESULT:
            break
    text = "".join(pieces)
    if length <= _MOST_RESULT:
        return visible(text)
    return f"{visible(text[:_MOST_RESULT])}… (the first {_MOST_RESULT} characters)"
