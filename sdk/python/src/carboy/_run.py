"""One run under way, between the caller that waits for it and the engine."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from ._record import Preloaded
from ._request import Request


class Owner(Protocol):
    """Where a run was submitted."""

    def finish(self, run: Run) -> None:
        """The caller no longer waits for a run. If it is under way, it is cancelled."""


class Run:
    """One run under way, as its caller waits for it."""

    # Class attributes, because `__init__` is on the path of every run.
    id = 0
    # Where it was submitted.
    pipe: Owner | None = None
    sent = False
    # The engine has sent its last message about it.
    over = False
    # The caller no longer waits for it.
    ended = False
    # It is to be cancelled, and still waited for.
    interrupted = False
    # Hears of modules that are preloaded.
    on_preload: Callable[[Preloaded], object] | None = None
    # Under which a server knows its request, if it may be sent again.
    key = ""
    # It was sent again although the server may have begun it.
    sent_again = False
    # How many runs of a server had ended when it was sent there.
    ends_before = 0
    # Tasks that serve its tool calls and can be cancelled.
    tasks: set[Any] | None = None

    def __init__(self, request: Request | None) -> None:
        self.request = request
        # Lines from the engine, or the error that ends the run.
        self.inbox: deque[bytes | BaseException] = deque()

    def finish(self) -> None:
        """The caller no longer waits for it. If it is under way, it is cancelled."""
        request = self.request
        if request is not None and request.held is not None:
            request.held.remove()
        if self.over and self.tasks is None:
            self.ended = True
        elif self.pipe is not None:
            self.pipe.finish(self)

    def wake(self) -> None:
        """Wakes the caller: there is something in the inbox. The pipe's lock is held."""
        raise NotImplementedError
