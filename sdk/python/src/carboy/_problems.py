"""The exceptions for what a server answers in place of an outcome."""

from __future__ import annotations

import json

from ._errors import BusyError, CarboyError, EngineError, NotStartedError, RequestError
from ._visible import one_line

_BUSY = frozenset(("quota", "busy", "bodies", "closed", "not_ready"))


def problem_of(status: int, text: bytes) -> CarboyError:
    """The exception for a body of `application/problem+json`, or for whatever else was answered."""
    try:
        problem = json.loads(text)
        code, message, hint = problem["code"], str(problem["detail"]), problem.get("hint")
        status = int(problem.get("status", status))
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        cause = one_line(text[:1000].decode(errors="replace"), 300)
        return EngineError(
            f"the server answered with status {status}",
            [cause] if cause else [],
            "is the url that of `carboy serve`, and what is on the way to it in order?",
        )
    if code in _BUSY:
        return BusyError(message, (), hint)
    if code == "cancelled":
        return NotStartedError(message, (), hint)
    if 400 <= status < 500 and status != 408:
        return RequestError(message, (), hint)
    return EngineError(message, (), hint)
