"""How a run ended, in the few words that every contract has a line for.

The engine says why in several fields. They are read in this one place, so that a timeout is the
same thing to a game, an agent and a workflow. What the code raised is its own word: it can call its
failure what it likes, and cannot make a success of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from .._limits import UNITS
from .._record import Denial, Error, Record
from .._visible import one_line


class Ending(Enum):
    """How a run ended."""

    OK = auto()
    SYNTAX = auto()
    """The text is not Python."""
    GUARD = auto()
    """The language guard refused something, before the run or in it."""
    TIMEOUT = auto()
    """The clock or the processor time ran out."""
    RESULT = auto()
    """The result is not JSON, too long or too deep."""
    LIMIT = auto()
    """Another limit was crossed."""
    DENIED = auto()
    """A wall refused something and the code ended on it."""
    CRASH = auto()
    """The process died, or left without an answer."""
    CANCELLED = auto()
    EXCEPTION = auto()
    """The code raised."""


_BAD_RESULTS = ("ResultNotJson", "ResultNotFinite", "ResultNotText")
_SYNTAX = ("SyntaxError", "IndentationError", "TabError")
_BY_KIND = {"denied": Ending.DENIED, "crash": Ending.CRASH, "cancelled": Ending.CANCELLED}


def ending_of(outcome: Record) -> Ending:
    """How this run ended."""
    error = outcome.error
    if error is None:
        return Ending.OK
    if error.limit is not None:
        if UNITS.get(error.limit.name) == "ms":
            return Ending.TIMEOUT
        return Ending.RESULT if error.limit.name.startswith("result_") else Ending.LIMIT
    if error.kind == "rejected":
        return Ending.SYNTAX if error.type == "SyntaxError" else Ending.GUARD
    if error.kind == "exception":
        if error.traceback is None and error.type in _BAD_RESULTS:
            return Ending.RESULT
        if _was_not_compiled(error):
            return Ending.SYNTAX
        if any(denial.layer == "guard" for denial in outcome.denials):
            return Ending.GUARD
    return _BY_KIND.get(error.kind, Ending.EXCEPTION)


def _was_not_compiled(error: Error) -> bool:
    """Whether the interpreter did not take the text. The guard's parser takes a little more.

    A program that ran and then raised such an error has a stack to show.
    """
    if error.traceback is None or error.traceback.startswith("Traceback "):
        return False
    # CPython 3.10 says ValueError of this one.
    has_null = error.type == "ValueError" and "null bytes" in error.message
    return error.type in _SYNTAX or has_null


def words_of(outcome: Record) -> str:
    """What went wrong and where, on one bounded line without anything that hides."""
    error = outcome.error
    if error is None:
        return "nothing went wrong"
    what = error.type if error.limit is None else f"limit {error.limit.name}"
    where = f" at line {error.line}" if error.line is not None else ""
    message = f": {one_line(error.message)}" if error.message else ""
    return f"{one_line(what, 200)}{where}{message}"


@dataclass(frozen=True)
class Violation:
    """One thing in a text that is refused."""

    line: int | None
    rule: str
    """The guard's rule, such as `import-not-granted`; `syntax` if the text is not Python."""
    message: str
    instead: str
    """What to write instead, or nothing."""

    def __str__(self) -> str:
        where = f"line {self.line}, {self.rule}" if self.line is not None else self.rule
        instead = f"; write instead: {self.instead}" if self.instead else ""
        return f"{where}: {self.message}{instead}"


def violations_of(outcome: Record) -> tuple[Violation, ...]:
    """Everything that the guard or the compiler refused, in the order of the text.

    The guard lists a hundred.
    """
    found = tuple(_violation(denial) for denial in outcome.denials if denial.layer == "guard")
    if found or outcome.error is None:
        return found
    error = outcome.error
    return (Violation(error.line, "syntax", one_line(error.message), error.hint or ""),)


def _violation(denial: Denial) -> Violation:
    message, instead = denial.message or denial.hint, denial.instead or ""
    return Violation(denial.line, one_line(denial.what, 100), one_line(message), one_line(instead))
