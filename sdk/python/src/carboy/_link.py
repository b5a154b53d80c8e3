"""What a box needs of whatever reaches an engine: a pipe to a child process, or HTTP to a server.

Boxes, sessions and tool calls know nothing else of it. Both kinds deliver the same messages.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod

from ._artifacts import Place
from ._run import Run


class SyncRun(Run):
    """A run that a thread waits for."""

    bell: threading.Lock | None = None
    asleep = False

    def wake(self) -> None:
        if self.asleep:
            self.asleep = False
            if self.bell is not None and self.bell.locked():
                self.bell.release()


class AsyncRun(Run):
    """A run that a task waits for."""

    waiter: asyncio.Future[None] | None = None

    def wake(self) -> None:
        if self.waiter is not None and not self.waiter.done():
            self.waiter.set_result(None)


class Link(ABC):
    """A way to an engine and its runs."""

    # Where the content of artifacts is kept, if it is.
    place: Place | None
    # Held while runs are submitted, told something, or finished.
    lock: threading.Lock
    # Nothing can be submitted any more, and nothing will arrive.
    over: bool
    # The version of the interpreter, if it is known.
    python: str | None

    @abstractmethod
    def submit(self, run: Run) -> bool:
        """Sends a run, or lets it wait for its turn. False if the engine is gone."""

    @abstractmethod
    def greet(self, run: Run) -> bool:
        """Tells `run` when the engine is ready. False if the engine is gone."""

    @abstractmethod
    def answer(self, run: Run, line: bytes) -> None:
        """Sends the answer to a tool call, unless the run has ended."""

    @abstractmethod
    def deliver(self, run: Run, error: BaseException) -> None:
        """Raises something where a run is waited for."""

    @abstractmethod
    def interrupt(self, run: Run) -> None:
        """Ends a run that is still waited for: it is answered as one that was cancelled."""

    def session_id(self, number: int) -> str | None:
        """The id that a session has elsewhere, if it has one."""
        return None

    @abstractmethod
    def forget_session(self, number: int) -> None:
        """Ends a session, whose end is not waited for."""

    @abstractmethod
    def finish(self, run: Run) -> None:
        """The caller no longer waits for a run. If it is under way, it is cancelled."""

    @abstractmethod
    def finish_locked(self, run: Run) -> None:
        """The same, for a caller that holds the lock."""

    @abstractmethod
    def retire(self) -> None:
        """The engine accepts no more requests, and another replaces it."""

    @abstractmethod
    def close(self) -> None:
        """Ends whatever still runs. No more requests are accepted."""

    @abstractmethod
    def after_fork(self) -> None:
        """In a forked child: the engine and its runs belong to the parent."""


class SyncLink(Link):
    """A way that threads wait on."""

    @abstractmethod
    def wait(self, run: SyncRun) -> bytes | BaseException:
        """The next message for a run, or why there is none."""

    @abstractmethod
    def look(self, run: SyncRun) -> None:
        """Reads what has arrived by now."""


class AsyncLink(Link):
    """A way that tasks of an event loop wait on."""

    loop: asyncio.AbstractEventLoop

    async def wait(self, run: AsyncRun) -> bytes | BaseException:
        """The next message for a run, or why there is none."""
        while not run.inbox:
            run.waiter = self.loop.create_future()
            try:
                await run.waiter
            finally:
                run.waiter = None
        return run.inbox.popleft()

    def abandon(self) -> None:
        """Closes it from any thread, when a box is garbage-collected."""
        if self.loop.is_running() and not _is_in(self.loop):
            self.loop.call_soon_threadsafe(self.close)
        else:
            self.close()


def _is_in(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False
