"""What an engine sends: lines of JSON, parsed as late as possible.

Only the run that a line belongs to must be known at once. The rest is parsed where that run is waited
for, so that a line that cannot be parsed fails one run only.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ._errors import BusyError, CarboyError, EngineError, NotStartedError, RequestError

# The version of the messages that this package speaks.
PIPE_VERSION = 1

_ADDRESS = re.compile(rb'\{"([a-z]+)":\{"id":(\d+)[,}]')

_decode = json.JSONDecoder().raw_decode


class Garbage(Exception):
    """The engine sent something that is not a valid message."""


def address(line: bytes) -> tuple[str, int | None]:
    """What kind of message a line is, and the number of its run."""
    found = _ADDRESS.match(line)
    if found is not None:
        return str(found[1], "ascii"), int(found[2])
    try:
        kind, body = parsed(line)
    except (ValueError, RecursionError):
        raise Garbage from None
    number = body.get("id")
    if number is not None and type(number) is not int:
        raise Garbage
    return kind, number


def parsed(line: bytes) -> tuple[str, dict[str, Any]]:
    """The kind and the body of a message; `ValueError` if it is none."""
    message, _ = _decode(str(line, "utf-8"))
    if type(message) is not dict or len(message) != 1:
        raise ValueError("not a valid message")
    ((kind, body),) = message.items()
    if type(body) is not dict:
        raise ValueError("not a valid message")
    return kind, body


def decoded(line: bytes) -> tuple[str, dict[str, Any]]:
    """The kind and the body of a message, for the run that it is for."""
    try:
        return parsed(line)
    except (ValueError, RecursionError) as error:
        raise EngineError(
            "an answer of the engine could not be parsed",
            [f"{type(error).__name__}: {error}"],
            "the code may have answered with more than this interpreter is set to read",
        ) from None


def session_answer(said: bytes | BaseException) -> dict[str, Any] | None:
    """What came of a request about a session; `None` if the message is about something else."""
    if isinstance(said, BaseException):
        raise said
    kind, body = decoded(said)
    if kind == "failed":
        raise failure_of(body["failure"])
    answer = body["answer"] if kind == "session" else None
    return answer if isinstance(answer, dict) else None


def failure_of(failure: dict[str, Any]) -> CarboyError:
    """The exception for a message that says why there is no outcome."""
    told = failure.get("message", ""), failure.get("causes", ()), failure.get("hint")
    match failure.get("kind"):
        case "request":
            return RequestError(*told)
        case "busy":
            return BusyError(*told)
        case "cancelled":
            return NotStartedError(*told)
        case _:
            return EngineError(*told)
