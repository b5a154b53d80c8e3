"""What is raised when there is no outcome: the caller's mistake, or our own failure.

What the code did is an outcome, and has errors of its own beside it.
"""

from __future__ import annotations

from collections.abc import Sequence


class CarboyError(Exception):
    """Everything that carboy raises."""


class _NoOutcome(CarboyError):
    """Why there is no outcome: what went wrong, its causes, and what to do."""

    message: str
    causes: tuple[str, ...]
    hint: str | None
    code: str | None
    """The code of the problem that a server answered with, such as `session_lost`; docs/serve.md of the
    repository lists them. None where no server answered."""

    def __init__(self, message: str, causes: Sequence[str] = (), hint: str | None = None) -> None:
        super().__init__(message, tuple(causes), hint)
        self.message = message
        self.causes = tuple(causes)
        self.hint = hint
        self.code = None

    def __str__(self) -> str:
        lines = [self.message, *(f"  cause: {cause}" for cause in self.causes)]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class RequestError(_NoOutcome, ValueError):
    """The caller's mistake: the request cannot be used as it is."""


class BusyError(_NoOutcome):
    """Too many runs are under way. Nothing was started; try again later."""

    retry_after: float | None = None
    """In how many seconds it may work, if a server said so."""


class NotStartedError(_NoOutcome):
    """The run was interrupted before it began. Nothing of it ran, and the session's state is as it was."""


class EngineError(_NoOutcome):
    """Our failure. Nothing of the code ran, or what ran was ended."""


class EngineGoneError(EngineError):
    """The engine died while the run was under way. The next run starts another."""


class JobError(_NoOutcome):
    """A durable job has no outcome: it was given up, was cancelled, or is a day old."""


class ToolError(CarboyError):
    """Raise this in a tool: its message is passed to the code that called it.

    What other exceptions say is kept from the code, because it may hold what the code must not
    know.
    """
