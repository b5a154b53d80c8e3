"""Durable jobs for programs without an event loop."""

from __future__ import annotations

import time
from collections.abc import Callable

from ._errors import BusyError
from ._jobs import PAUSE, WAIT_MS, JobBase, JobState, not_ended, outcome_of, told
from ._outcome import Outcome

Ask = Callable[[str, str], tuple[int, bytes]]


class Job(JobBase):
    """A durable job on a server, as `Sandbox.submit` returns it. It outlives the box and the process."""

    def __init__(self, id: str, raises: bool, ask: Ask) -> None:
        super().__init__(id, raises)
        self._ask = ask

    def status(self) -> JobState:
        """How it stands: `accepted` (it waits or runs), `ended`, `failed`, `cancelled` or `expired`."""
        state: JobState = told(*self._ask("GET", self._path))["state"]
        return state

    def wait(self, timeout: float | None = None) -> Outcome:
        """Waits for its end and returns the outcome, or raises a `TimeoutError` after `timeout` seconds.

        A job that ends without an outcome raises a `JobError`. A queue that does not answer is asked again.
        """
        until = None if timeout is None else time.monotonic() + timeout
        while True:
            left = WAIT_MS if until is None else int((until - time.monotonic()) * 1e3)
            path = f"{self._path}?wait_ms={min(max(left, 0), WAIT_MS)}"
            try:
                outcome = outcome_of(told(*self._ask("GET", path)), self._raises)
                if outcome is not None:
                    return outcome
            except BusyError:
                if until is not None and until - time.monotonic() <= PAUSE:
                    raise
                time.sleep(PAUSE)
            if until is not None and time.monotonic() >= until:
                raise not_ended(self._id)

    def cancel(self) -> bool:
        """Ends it, also while it runs. False if it had ended."""
        status, text = self._ask("DELETE", self._path)
        told(status, text)
        return status == 202
