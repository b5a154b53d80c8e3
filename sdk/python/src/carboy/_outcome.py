"""What came of a run, as its caller has it, and what is raised if it did not end well.

What the code wrote is the guest's: show it with `explain()` or `repr()`, which make it harmless.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from . import _explain, _html
from ._artifacts import Place, kept_at
from ._errors import CarboyError
from ._frames import Library, frame_of
from ._limits import UNITS
from ._record import Record


class Outcome(Record):
    """What came of a run."""

    @classmethod
    def from_dict(cls, body: Mapping[str, Any], place: Place | None = None) -> Outcome:
        """The outcome that the engine wrote. `to_dict` keeps what is not known here.

        `place` is where the engine has the content of artifacts.
        """
        made = object.__new__(cls)
        made.__dict__["_body"] = body
        artifacts = body["artifacts"]
        if artifacts and place is not None and "sha256" in artifacts[0]:
            made.__dict__["_kept"] = kept_at(place, body["id"])
        return made

    def raise_for_error(self) -> Outcome:
        """This outcome, if it is ok. Otherwise raises the `RunError` of its kind."""
        if self.status == "ok":
            return self
        raise _error_of(self)

    def frame(self, library: Library | None = None) -> Any:
        """The table that the code answered with, as a frame of `pandas`, `polars` or `pyarrow`.

        Of the library that the code used, if none is named. All of the table comes with
        `Drawing(tables="arrow")` in the policy and pyarrow on both sides; otherwise it is made of `result`,
        which has at most 1000 rows.
        """
        return frame_of(self, library)

    def explain(self) -> str:
        """All that matters of it as text, for a language model or a person to act on."""
        return _explain.explanation(self)

    def __repr__(self) -> str:
        return _explain.summary(self)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        return _html.table(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": _html.table(self)}


class SessionOutcome(Outcome):
    """What came of a run in a session, and what is left of the session's state."""

    state: Literal["kept", "restored", "ended"]
    """`kept`: what the code reached, to its end or to its exception. `restored`: what was there before the
    run. `ended`: nothing, the session is over."""
    note: str | None
    """What is to be known about that state, such as threads that are gone."""

    @classmethod
    def from_message(cls, body: Mapping[str, Any], place: Place | None = None) -> SessionOutcome:
        """The outcome in a message about a run of a session. See `Outcome.from_dict`."""
        made = cls.from_dict(body["outcome"], place)
        assert isinstance(made, SessionOutcome)
        made.__dict__["state"] = body["state"]
        made.__dict__["note"] = body.get("note")
        return made

    def explain(self) -> str:
        """All that matters of it as text, with what is left of the session's state."""
        after = _STATES.get(self.state)
        parts = [super().explain().rstrip("\n"), after, self.note]
        return "\n".join(part for part in parts if part)


_STATES = {
    "restored": "The session's state is what it was before this run.",
    "ended": "The session is over: nothing is left of its state.",
}


class RunError(CarboyError):
    """The code did not run to its end, and the caller asked for that to be raised."""

    outcome: Outcome

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome

    def __str__(self) -> str:
        return _explain.summary_of_error(self.outcome)


class GuestExceptionError(RunError):
    """The code raised, or under a strict policy answered with something that is not JSON."""


class LimitError(RunError):
    """A limit was crossed; `outcome.error.limit` names it."""


class TimeLimitError(LimitError, TimeoutError):
    """The run took too long, on the clock or on the processor."""


class DeniedError(RunError):
    """A layer refused something, and the code failed because of it."""


class RejectedError(RunError):
    """The language guard refused the code before anything started."""


class CrashError(RunError):
    """The process crashed, or exited without an answer."""


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


def _error_of(outcome: Outcome) -> RunError:
    """The exception for an outcome that is not ok."""
    error = outcome.error
    if error is None:
        return RunError(outcome)
    if error.limit is not None and UNITS.get(error.limit.name) == "ms":
        return TimeLimitError(outcome)
    return _BY_KIND.get(error.kind, RunError)(outcome)
