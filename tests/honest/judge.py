"""Compares what came of a program with what its header expects."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .pixels import pixels
from .program import Program

# In place of a profile: nobody is there to say anything.
OUTSIDE = "outside"
# A process that the system-call filter killed.
SIGSYS = 31


@dataclass(frozen=True)
class Came:
    """What came of a program, inside or outside."""

    kind: str | None
    """None if it ran to its end, else the kind of its error."""
    type: str = ""
    message: str = ""
    result: Any = None
    has_result: bool = True
    """Whether the result is known as JSON; outside a result may have no such form."""
    stdout: str = ""
    stderr: str = ""
    files: tuple[str, ...] = ()
    displays: tuple[Any, ...] | None = None
    """What it showed; outside nobody knows."""
    words: str = ""
    """What is said to the author of the code, apart from the code's own words."""
    line: int | None = None
    signal: int | None = None
    seconds: float = 0.0


def fault(program: Program, came: Came, profile: str) -> str | None:
    """Why it is not as expected; None if it is."""
    if came.signal == SIGSYS:
        return f"killed by the system-call filter: {came.message}"
    if profile == "agent" and program.agent == "refuse":
        return _rejection(came)
    if profile == "agent" and came.kind == "rejected" and program.kind != "ok":
        # It was told sooner, in the same words.
        return _rejection(came) or _unsaid(program, came)
    match program.kind:
        case "ok":
            return _done(program, came)
        case "refuse":
            if came.kind is None:
                return f"was not refused: {came.result!r}"
            if came.kind == "crash":
                return f"crashed: {_told(came)}"
        case "error":
            if came.kind != "exception" or not _is(came.type, program.what):
                return f"no {program.what}: {_told(came)}"
        case "limit":
            if came.kind != "limit" or came.type != program.what:
                return f"did not end by {program.what}: {_told(came)}"
        case "crash":
            if came.kind != "crash":
                return f"did not crash: {_told(came)}"
    return None if profile == OUTSIDE else _unsaid(program, came)


def _is(name: str, wanted: str) -> bool:
    """Whether an exception is of the wanted kind. Only builtins are known by name."""
    if name.rsplit(".", 1)[-1] == wanted:
        return True
    found, base = getattr(builtins, name, None), getattr(builtins, wanted, None)
    is_known = isinstance(found, type) and isinstance(base, type)
    return is_known and issubclass(found, base)  # type: ignore[arg-type]


def _rejection(came: Came) -> str | None:
    if came.kind != "rejected":
        return f"was not rejected, {_told(came)}; remove `agent: refuse`"
    if came.line is None or not came.words:
        return f"was rejected without a line or a way out: {_told(came)}"
    return None


def _done(program: Program, came: Came) -> str | None:
    if came.kind is not None:
        return _told(came)
    known: dict[str, Any] = {"stdout": came.stdout, "stderr": came.stderr, "files": came.files}
    if came.displays is not None:
        known |= {"displays": came.displays, "pixels": pixels}
    if came.has_result:
        known["result"] = came.result
    for check in program.checks:
        if any(name not in known and name in check for name in ("result", "displays")):
            continue
        try:
            held = eval(check, dict(known))
        except Exception as error:
            return f"{check}: {type(error).__name__}: {error} (result {came.result!r:.200})"
        if not held:
            return f"{check} is not so (result {came.result!r:.200})"
    return None


def _unsaid(program: Program, came: Came) -> str | None:
    for words in program.says:
        if words.lower() not in came.words.lower():
            return f"does not say {words!r}: {_told(came)}; said: {came.words or 'nothing'}"
    return None


def _told(came: Came) -> str:
    if came.kind is None:
        return f"ran to its end with {came.result!r:.200}"
    where = f" at line {came.line}" if came.line else ""
    return f"{came.kind} {came.type}{where}: {came.message}"[:400]


def words_of(hint: str | None, denials: Iterable[Any]) -> str:
    """All that an outcome tells the author of the code."""
    said = [hint or ""] + [denial.hint for denial in denials]
    return " ".join(dict.fromkeys(word for word in said if word))
