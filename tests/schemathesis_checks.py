"""What schemathesis asks of every answer beside its own checks: refusals say when to come again."""

from __future__ import annotations

from typing import Any

import schemathesis

REFUSED = (429, 503)


@schemathesis.check
def refused_not_failed(_context: Any, response: Any, _case: Any) -> None:
    """A server that is full says so; it does not fail."""
    status = response.status_code
    assert status < 500 or status in REFUSED, f"{status}: {response.text}"
    if status in REFUSED:
        assert "retry-after" in response.headers, f"{status} without Retry-After: {response.text}"


@schemathesis.check
def a_problem_is_whole(_context: Any, response: Any, _case: Any) -> None:
    """An error has a code, a sentence, and the status that it was sent with."""
    if response.status_code < 400 or response.request.method == "HEAD":
        return
    problem = response.json()
    assert problem["status"] == response.status_code, problem
    assert problem["code"] and problem["detail"], problem
