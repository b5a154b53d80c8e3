"""The exceptions for what a server answers in place of an outcome."""

from __future__ import annotations

import json

from ._errors import BusyError, CarboyError, EngineError, NotStartedError, RequestError
from ._visible import one_line

_MOST = 2_000
_MOST_CODE = 100
# Nobody is told to wait for longer than a day.
_MOST_SECONDS = 86_400.0
_BUSY = frozenset(
    (
        "quota",
        "busy",
        "bodies",
        "uploads",
        "closed",
        "not_ready",
        "ending",
        "drained",
        "fleet_full",
        "fleet_unreachable",
        "durable_unavailable",
    )
)


def code_of(text: bytes) -> str | None:
    """The code of a problem, if that is what was answered."""
    try:
        code = json.loads(text)["code"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return code if type(code) is str else None


def problem_of(status: int, text: bytes) -> CarboyError:
    """The exception for a body of `application/problem+json`, or for whatever else was answered."""
    try:
        problem = json.loads(text)
        code, told = problem["code"], problem.get("status", status)
        # They may repeat what somebody else wrote.
        message = one_line(str(problem["detail"]), _MOST)
        hint = problem.get("hint")
        hint = None if hint is None else one_line(str(hint), _MOST)
        if type(code) is not str or type(told) is not int or not 400 <= told < 600:
            raise ValueError("not a problem")
        status = told
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        cause = one_line(text[:1000].decode(errors="replace"), 300)
        return EngineError(
            f"the server answered with status {status}",
            [cause] if cause else [],
            "is the url that of `carboy serve`, and what is on the way to it in order?",
        )
    error = _kind(status, code)(message, (), hint)
    error.code = one_line(code, _MOST_CODE)
    after = problem.get("retry_after_ms")
    if isinstance(error, BusyError) and type(after) is int and after > 0:
        error.retry_after = min(after / 1000, _MOST_SECONDS)
    return error


def _kind(
    status: int, code: str
) -> type[BusyError] | type[NotStartedError] | type[RequestError] | type[EngineError]:
    if code in _BUSY:
        return BusyError
    if code == "cancelled":
        return NotStartedError
    if 400 <= status < 500 and status != 408:
        return RequestError
    return EngineError
