"""Drives a pipe from an asyncio event loop. No thread is started for it."""

from __future__ import annotations

import asyncio

from ._link import AsyncLink
from ._pipe import Pipe, closed
from ._request import Settings
from ._run import Run


class AsyncPipe(Pipe, AsyncLink):
    """An engine whose answers are read by an event loop."""

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(settings)
        self.loop = loop
        loop.add_reader(self.process.answers, self.receive)
        self._look_later()

    def _look_later(self) -> None:
        left = self.progress.left()
        if left is not None:
            self.loop.call_later(left, self._still_waiting)

    def _still_waiting(self) -> None:
        left = self.progress.left()
        if left and left > 0.01:
            self._look_later()
        elif self._runs or self._greeted:
            self.progress.show()

    def submit(self, run: Run) -> bool:
        is_first = self.progress.pending and not self._runs
        taken = super().submit(run)
        if is_first:
            self._look_later()
        return taken

    def _unsent(self) -> None:
        self.loop.add_writer(self.process.requests, self._writable)

    def _writable(self) -> None:
        if not self.flush() and not self.over:
            self.loop.remove_writer(self.process.requests)

    def _let_go(self) -> None:
        if not self.loop.is_closed():
            self.loop.remove_reader(self.process.answers)
            self.loop.remove_writer(self.process.requests)

    def close(self) -> None:
        """Ends the engine, and whatever still runs."""
        if self.over:
            return
        self._why = closed
        if self._runs:
            self.process.kill()
        self.gone()
