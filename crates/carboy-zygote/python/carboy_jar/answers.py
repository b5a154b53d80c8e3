"""The last frame of a job: its result, or how it failed."""

from __future__ import annotations

import traceback

from .callee import failed_callee
from .convert import converted
from .displays import show_answer
from .forms import TooDeep
from .guard import named_by_guard
from .refusal import GuardError
from .values import ENCODE, ENCODER, MAX_TEXT, NotAwaited, clean, encode

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

# What the code is called in tracebacks.
NAME = "job.py"
MAX_TRACEBACK = 16_000
LAST_RESORT = b'{"failed":{"type":"MemoryError","message":"","callee":""}}'
# The frame for a value that nests deeper than can be written.
TOO_DEEP = b'{"done":{"result":' + b"[" * 500 + b"]" * 500 + b"}}"


def bad_result(fault: str, detail: object) -> bytes:
    """The frame for a result that is not JSON."""
    return encode({"bad_result": {"fault": fault, "detail": clean(detail, 200)}})


def encode_result(value: object, strict: bool) -> bytes:
    """The frame for a result. How long and how deep it may be is for the engine to judge."""
    if value is None:
        return b'{"done":{}}'
    fault = error = ""
    try:
        return b'{"done":{"result":' + as_json(value) + b"}}"
    except RecursionError:
        return TOO_DEEP
    except UnicodeEncodeError:
        fault, error = "not_text", "a string contains an unpaired surrogate"
    except ValueError as found:
        fault, error = "not_finite" if "float" in str(found) else "not_json", str(found)
        if "ircular" in error:
            return TOO_DEEP
    except TypeError as found:
        fault, error = "not_awaited" if type(found) is NotAwaited else "not_json", str(found)
    except BaseException as found:
        # A class of the code's own does that when it is looked at.
        if strict or isinstance(found, MemoryError):
            raise
    return bad_result(fault, error) if strict else encode_converted(value)


def as_json(value: object) -> bytes:
    """A value as JSON, if all of it is."""
    return ("".join(ENCODE(value, 0)) if ENCODE else ENCODER.encode(value)).encode("utf-8")


def encode_converted(value: object) -> bytes:
    """The frame for a result that is not JSON already."""
    show_answer(value)
    try:
        # The result comes first: the engine knows by that what is too deep.
        return b'{"done":' + as_json(converted(value)) + b"}"
    except (TooDeep, RecursionError):
        return TOO_DEEP


def exit_code(error: SystemExit) -> int:
    """What an interpreter would exit with: eight bits of a number, 1 for anything else."""
    return error.code & 0xFF if isinstance(error.code, int) else 1


def encode_failure(error: BaseException, name: str = NAME) -> bytes:
    """The frame for an exception that the code of this name did not catch."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != name:
        trace = trace.tb_next
    line: Any = None
    step = last = trace
    while step is not None:
        if step.tb_frame.f_code.co_filename == name:
            line, last = step.tb_lineno, step
        step = step.tb_next
    callee = failed_callee(error)
    error = named_by_guard(error) or error
    refusal = error.refusal if type(error) is GuardError else None
    if refusal and last:
        # What the guard did to find out is of no interest.
        last.tb_next = None
    if isinstance(error, SyntaxError) and error.filename == name:
        line = error.lineno
    if isinstance(error, MemoryError):
        traceback.clear_frames(error.__traceback__)
    errno = error.errno if isinstance(error, OSError) else None
    text = "".join(traceback.format_exception(type(error), error, trace))
    failure = {
        "type": clean(type(error).__name__, 200),
        "message": clean(error, MAX_TEXT),
        "traceback": clean(text, MAX_TRACEBACK),
        "line": line if type(line) is int and 0 < line < 1 << 31 else None,
        "exit": exit_code(error) if isinstance(error, SystemExit) else None,
        "refusal": refusal and {part: clean(text, MAX_TEXT) for part, text in refusal.items()},
        "callee": callee,
        "errno": errno if type(errno) is int and abs(errno) < 1 << 31 else None,
    }
    return encode({"failed": failure})
