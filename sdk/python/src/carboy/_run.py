"""One run under way, between whoever waits for it and the engine that has it."""

from __future__ import annotations

from collections import deque
from typing import Any, Protocol

from ._request import Request


class Owner(Protocol):
    """Where a run was submitted."""

    def finish(self, run: Run) -> None:
        """Nobody waits for a run any more. If it is under way, it is cancelled."""


class Run:
    """One run under way, as its caller waits for it."""

    # These stand here and not in `__init__` because that is on the path of every run.
    id = 0
    # Where it was submitted.
    pipe: Owner | None = None
    sent = False
    # The engine has said its last word on it.
    over = False
    # Nobody waits for it any more.
    ended = False
    # What goes on for it elsewhere and can be cancelled.
    tasks: set[Any] | None = None

    def __init__(self, request: Request | None) -> None:
        self.request = request
        # Lines of the engine, or why there will be none.
        self.inbox: deque[bytes | BaseException] = deque()

    def finish(self) -> None:
        """Nobody waits for it any more. If it is under way, it is cancelled."""
        if self.over and self.tasks is None:
            self.ended = True
        elif self.pipe is not None:
            self.pipe.finish(self)

    def wake(self) -> None:
        """Tells whoever waits that there is something in the inbox. The pipe is locked."""
        raise NotImplementedError
