"""The last frame of a job: its result, or how it failed."""

from __future__ import annotations

import traceback

from .callee import failed_callee
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
# What stands for a value that nests deeper than can be written.
TOO_DEEP = b"[" * 500 + b"]" * 500


def bad_result(fault: str, detail: object) -> bytes:
    """The frame for a result that is not JSON."""
    return encode({"bad_result": {"fault": fault, "detail": clean(detail, 200)}})


def encode_result(value: object) -> bytes:
    """The frame for a result. How long and how deep it may be is for the engine to judge."""
    if value is None:
        return b'{"done":{}}'
    try:
        text = "".join(ENCODE(value, 0)) if ENCODE else ENCODER.encode(value)
        data = text.encode("utf-8")
    except RecursionError:
        data = TOO_DEEP
    except UnicodeEncodeError:
        return bad_result("not_text", "a string contains an unpaired surrogate")
    except ValueError as error:
        if "float" in str(error):
            return bad_result("not_finite", error)
        if "ircular" not in str(error):
            return bad_result("not_json", error)
        data = TOO_DEEP
    except TypeError as error:
        return bad_result("not_awaited" if type(error) is NotAwaited else "not_json", error)
    return b'{"done":{"result":' + data + b"}}"


def exit_code(error: SystemExit) -> int:
    """What an interpreter would exit with: eight bits of a number, 1 for anything else."""
    return error.code & 0xFF if isinstance(error.code, int) else 1


def encode_failure(error: BaseException) -> bytes:
    """The frame for an exception that the code did not catch."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != NAME:
        trace = trace.tb_next
    line: Any = None
    step = last = trace
    while step is not None:
        if step.tb_frame.f_code.co_filename == NAME:
            line, last = step.tb_lineno, step
        step = step.tb_next
    callee = failed_callee(error)
    error = named_by_guard(error) or error
    refusal = error.refusal if type(error) is GuardError else None
    if refusal and last:
        # What the guard did to find out is of no interest.
        last.tb_next = None
    if isinstance(error, SyntaxError) and error.filename == NAME:
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
