"""Outcomes in notebooks: a small table, and below it what the code showed.

All that the guest wrote is escaped and bounded, or stands in a sandboxed frame: nothing in it is loaded or
run.
"""

from __future__ import annotations

from html import escape

from . import _explain
from ._displays import harmless
from ._record import Record
from ._visible import shown

_MOST = 4_000


def table(outcome: Record) -> str:
    """The outcome as a table without style, script or link, and its displays."""
    usage = outcome.usage
    rows: list[tuple[str, str]] = [("status", outcome.status)]
    if outcome.error is None:
        rows.append(("result", shown(outcome.result, _MOST)))
        for name, words in (("text", outcome.result_text), ("note", outcome.result_note)):
            if words is not None:
                rows.append(_explain.titled(name, words, _MOST, False))
    else:
        rows.append(("error", _explain.happened(outcome.error)))
        if outcome.error.hint:
            rows.append(("hint", outcome.error.hint))
        if outcome.error.operator_hint:
            rows.append(("operator hint", outcome.error.operator_hint))
    rows += [("denied", line) for line in _explain.refusals(outcome)]
    texts = [
        ("stdout", outcome.stdout, outcome.stdout_truncated),
        ("stderr", outcome.stderr, outcome.stderr_truncated),
    ]
    if outcome.error is not None:
        texts.insert(0, ("traceback", outcome.error.traceback or "", False))
    for name, text, truncated in texts:
        if text:
            rows.append(_explain.titled(name, text, _MOST, truncated))
    if outcome.display_note:
        rows.append(_explain.titled("left out", outcome.display_note, _MOST, False))
    rows.append(
        (
            "used",
            f"{_explain.milliseconds(usage.wall_ms)}, {_explain.size(usage.peak_memory_bytes)}",
        )
    )
    cells = "".join(
        f"<tr><th>{escape(name)}</th><td><pre>{escape(text)}</pre></td></tr>" for name, text in rows
    )
    shown_below = "".join(f"<div>{harmless(display)}</div>" for display in outcome.displays)
    return f"<table>{cells}</table>{shown_below}"
