"""What is raised when there is no outcome, or when the caller wants a bad outcome raised.

Three things are never mixed: the caller's mistake, our own failure, and what the code did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ._limits import UNITS

if TYPE_CHECKING:
    from ._outcome import Outcome


class CarboyError(Exception):
    """Everything that carboy raises."""


class _NoOutcome(CarboyError):
    """Why there is no outcome: what went wrong, what stands behind it, and what to do."""

    message: str
    causes: tuple[str, ...]
    hint: str | None

    def __init__(self, message: str, causes: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message, tuple(causes), hint)
        self.message = message
        self.causes = tuple(causes)
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message, *(f"  cause: {cause}" for cause in self.causes)]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class RequestError(_NoOutcome, ValueError):
    """The caller's mistake: the request cannot be used as it is."""


class BusyError(_NoOutcome):
    """Too much is running. Nothing was started; come again."""


class EngineError(_NoOutcome):
    """Our failure. Nothing of the code ran, or what ran was ended."""


class EngineGoneError(EngineError):
    """The engine died while the run was under way. The next run starts another."""


class ToolError(CarboyError):
    """Raise this in a tool: its message is passed to the code that called it.

    What other exceptions say is kept from the code, because it may hold what the code must not
    know.
    """


class RunError(CarboyError):
    """The code did not run to its end, and the caller asked for that to be raised."""

    outcome: Outcome

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome

    def __str__(self) -> str:
        from ._explain import summary_of_error

        return summary_of_error(self.outcome)


class GuestExceptionError(RunError):
    """The code raised an exception, or answered with something that is not JSON."""


class LimitError(RunError):
    """A limit was crossed; `outcome.error.limit` names it."""


class TimeLimitError(LimitError, TimeoutError):
    """The run took too long, on the clock or on the processor."""


class DeniedError(RunError):
    """A layer refused something and the code ended on it."""


class RejectedError(RunError):
    """The language guard refused the code before anything started."""


class CrashError(RunError):
    """The process died, or left without an answer."""


class CancelledRunError(RunError):
    """The run was cancelled."""


_BY_KIND: dict[str, type[RunError]] = {
    "exception": GuestExceptionError,
    "limit": LimitError,
    "denied": DeniedError,
    "rejected": RejectedError,
    "crash": CrashError,
    "cancelled": CancelledRunError,
}

def error_of(outcome: Outcome) -> RunError:
    """The exception for an outcome that is not ok."""
    error = outcome.error
    if error is None:
        return RunError(outcome)
    if error.limit is not None and UNITS.get(error.limit.name) == "ms":
        return TimeLimitError(outcome)
    return _BY_KIND.get(error.kind, RunError)(outcome)
