"""What both kinds of sessions share: numbers, requests, and what is told of variables."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._errors import EngineGoneError, RequestError
from ._link import Link
from ._request import Settings
from ._run import Run

P = TypeVar("P", bound=Link)
R = TypeVar("R", bound=Run)

# One series for all engines of the process: a number is never used twice.
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Variable:
    """One thing that a session's code has defined, in its own words."""

    name: str
    type: str
    size: int | None = None
    """How large it is, if that is known: parts of texts and containers, bytes of arrays."""


class Variables(list[Variable]):
    """What a session's code has defined."""

    more: int
    """How many there are beside these."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__(
            Variable(each["name"], each["type"], each.get("size")) for each in told["variables"]
        )
        self.more = told["more"]


class SessionBase(Generic[P, R]):
    """A session, behind a pipe of one kind."""

    def __init__(self, settings: Settings, raises: bool) -> None:
        self._settings = settings
        self._raises = raises
        self._number = next(_numbers)
        self._pipe: P | None = None
        self._closed = False
        # Its runs that are waited for.
        self._under_way: set[R] = set()

    @property
    def id(self) -> str | None:
        """Its id on a server, as the API there has it. None where it is not on one, or not open."""
        return None if self._pipe is None or self._closed else self._pipe.session_id(self._number)

    def interrupt(self) -> None:
        """Ends the run that is under way, from another thread or task; the state is as it was before it.

        The run is answered with an outcome whose error has the kind `cancelled`. One that has not begun
        raises a `NotStartedError` instead.
        """
        pipe = self._pipe
        if pipe is not None:
            for run in list(self._under_way):
                pipe.interrupt(run)

    def _sent(self, run: R) -> P:
        """Sends a request to the engine that holds the session."""
        pipe = self._pipe
        if self._closed or pipe is None:
            raise RequestError(
                "the session is closed" if self._closed else "the session is not open",
                hint="open another with box.session()",
            )
        if not pipe.submit(run):
            raise EngineGoneError(
                "the engine that held the session is gone", hint="open another with box.session()"
            )
        return pipe

    def _left(self) -> P | None:
        """The engine that has to be told that the session is closed, if there is one."""
        was_closed, self._closed = self._closed, True
        return None if was_closed else self._pipe
