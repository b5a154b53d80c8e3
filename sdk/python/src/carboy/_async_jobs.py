"""Durable jobs for programs with an asyncio event loop."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from ._errors import BusyError
from ._jobs import PAUSE, WAIT_MS, JobBase, JobState, not_ended, outcome_of, told
from ._outcome import Outcome

Ask = Callable[[str, str], Awaitable[tuple[int, bytes]]]


class AsyncJob(JobBase):
    """A `Job` whose methods are awaited, as `AsyncSandbox.submit` returns it."""

    def __init__(self, id: str, raises: bool, ask: Ask) -> None:
        super().__init__(id, raises)
        self._ask = ask

    async def status(self) -> JobState:
        """How it stands. See `Job.status`."""
        state: JobState = told(*await self._ask("GET", self._path))["state"]
        return state

    async def wait(self, timeout: float | None = None) -> Outcome:
        """Waits for its end and returns the outcome. See `Job.wait`. The job goes on if nobody waits."""
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_MS if until is None else int((until - time.monotonic()) * 1e3)
            path = f"{self._path}?wait_ms={min(max(left, 0), WAIT_MS)}"
            try:
                outcome = outcome_of(told(*await self._ask("GET", path)), self._raises)
                if outcome is not None:
                    return outcome
            except BusyError:
                if until is not None and until - time.monotonic() <= PAUSE:
                    raise
                await asyncio.sleep(PAUSE)
            if until is not None and time.monotonic() >= until:
                raise not_ended(self._id)

    async def cancel(self) -> bool:
        """Ends it, also while it runs. False if it had ended."""
        status, text = await self._ask("DELETE", self._path)
        told(status, text)
        return status == 202
