"""The runs of a box on a server: which wait for their turn, and what the server says about each.

Each run is a request of its own, on a connection of its own while it is under way. What is said about
it becomes the same messages that come from a pipe. Nothing here does I/O.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial

from ._address import Address
from ._client import Client, KeptThere
from ._connection import Connection
from ._errors import BusyError, CarboyError, EngineError, EngineGoneError, NotStartedError
from ._http import HungUp
from ._link import Link
from ._pipe import closed
from ._problems import code_of, problem_of
from ._request import Settings
from ._run import Run
from ._trip import There, Trip, key_header

# Runs of one box that are under way at once at most, each on its own connection.
_MOST = 64
# A connection that ends sooner after a request was closed before it came.
_SOON = 1.0
# How long it is tried to interrupt a run that the server does not know of yet, and how often.
INTERRUPT_SECONDS = 10.0
INTERRUPT_STEP = 0.02
# How long the end of a box waits for a server that is to end sessions, all together.
CLOSE_SECONDS = 10.0
# Those that end the sessions of a box that was closed.
_closing: set[threading.Thread] = set()


class Remote(Link):
    """A server and the runs of one box there."""

    def __init__(self, settings: Settings, address: Address) -> None:
        self.address = address
        self.client = Client(address)
        self.place = partial(KeptThere, self.client) if settings.artifacts == "keep" else None
        self.python = None
        self.there = There(address, settings.artifacts)
        self.lock = threading.Lock()
        # No more runs are accepted.
        self.over = False
        self._runs: dict[int, Run] = {}
        self._next = 1
        self._in_flight = 0
        # How many runs were answered with an end.
        self._ends = 0
        self._window = _MOST
        # Keys of runs that nobody waits for any more, and whether a thread tells the server of them.
        self._unwanted: deque[str] = deque()
        self._is_telling = False

    def _registered(self, run: Run) -> bool:
        """Takes a run in. False if the box was closed."""
        with self.lock:
            if self.over:
                return False
            run.id, run.pipe = self._next, self
            self._next += 1
            if run.interrupted:
                self._tell(run, not_begun())
                return True
            self._runs[run.id] = run
            return True

    def _take_turn(self, run: Run) -> bool:
        """Whether a run can be sent now, which then has to be. The lock is held."""
        run.sent = has_turn = self._in_flight < self._window
        self._in_flight += has_turn
        run.ends_before = self._ends
        return has_turn

    def _ended(self, run: Run, end: bytes | BaseException) -> bool:
        """The last word about a run that was sent. False if it has to be sent again, at its turn.

        That is if the server has no place for it while other runs of ours are under way, or were since it
        was sent: these are what it is busy with. The lock is held.
        """
        self._in_flight -= 1
        has_others = self._in_flight > 0 or self._ends > run.ends_before
        if isinstance(end, BusyError) and has_others and not run.ended and not self.over:
            self._window = max(self._in_flight, 1)
            run.sent = False
            return False
        self._ends += not isinstance(end, BusyError)
        if self._window < _MOST:
            self._window += 1
        self._tell(run, end)
        return True

    def _tell(self, run: Run, end: bytes | BaseException) -> None:
        """Nothing else is said about a run. The lock is held."""
        self._runs.pop(run.id, None)
        run.over = True
        if not run.ended:
            run.inbox.append(end)
            run.wake()

    def finish(self, run: Run) -> None:
        with self.lock:
            self.finish_locked(run)

    def finish_locked(self, run: Run) -> None:
        if not run.ended:
            self._give_up(run)
            self._leave(run)
            self._stop(run)

    def _give_up(self, run: Run) -> None:
        """A run that has a key goes on without its connection: the server is told that nobody wants it.

        It is told in a thread, as whoever leaves must not wait for it. The lock is held.
        """
        if not run.key or not run.sent or run.over or run.ended:
            return
        self._unwanted.append(run.key)
        if not self._is_telling:
            self._is_telling = True
            if not in_background(self._tell_unwanted):
                self._is_telling = False

    def _tell_unwanted(self) -> None:
        client = Client(self.address)
        until = time.monotonic() + CLOSE_SECONDS
        try:
            while True:
                with self.lock:
                    if not self._unwanted:
                        self._is_telling = False
                        return
                    key = self._unwanted.popleft()
                # What is not told ends by its own limits.
                with contextlib.suppress(CarboyError):
                    left = max(until - time.monotonic(), 0.1)
                    client.ask("DELETE", "/v1/runs", more=key_header(key), within=left)
        finally:
            client.close()

    def _stop(self, run: Run) -> None:
        """Ends the exchange of a run, and the run with it. The lock is held."""
        raise NotImplementedError

    def _leave(self, run: Run) -> None:
        run.ended = True
        run.inbox.clear()
        self._runs.pop(run.id, None)
        if run.tasks is not None:
            for task in list(run.tasks):
                task.cancel()

    def _shut(self) -> list[Run]:
        """Accepts no more, and tells everybody. The lock is held."""
        self.over = True
        runs = list(self._runs.values())
        for run in runs:
            self._give_up(run)
            self._tell(run, closed())
        return runs

    def _interrupted(self, run: Run) -> str | None:
        """Notes that a run is to be ended, and says at which path, if the server has it. The lock is held."""
        run.interrupted = True
        if run.over or run.ended or run.id not in self._runs or run.request is None:
            return None
        if not run.sent:
            self._tell(run, not_begun())
            return None
        try:
            return self.there.session_path(run.request.session, "/interrupt")
        except CarboyError:
            return None

    def _end_sessions(self) -> None:
        """Ends the sessions that are left there. It waits for the server, but not long."""
        until = time.monotonic() + CLOSE_SECONDS
        for number in list(self.there.sessions):
            left = until - time.monotonic()
            try:
                if left <= 0:
                    break
                self._end_session(number, left)
            except CarboyError:
                # The others end when nobody uses them.
                break
        self.there.sessions.clear()

    def _end_session(self, number: int, within: float) -> None:
        """Ends a session, if it is open. It waits for the server."""
        id = self.there.sessions.get(number)
        if id is None:
            return
        answer, _ = self.client.ask("DELETE", f"/v1/sessions/{id}", within=within)
        self.there.closed(number, answer.status)

    def session_id(self, number: int) -> str | None:
        return self.there.sessions.get(number)

    def retire(self) -> None:
        """Nothing of a server has to be replaced."""

    def _answer_path(self, trip: Trip) -> str:
        return f"/v1/runs/{trip.id}/answers"


def answer_body(line: bytes) -> bytes:
    """The answer to a call, of the line that a pipe would get: `{"answer":{"id":1,"call":...}}`."""
    return b"{" + line[line.index(b",") + 1 : line.rindex(b"}")]


def answer_fault(status: int, text: bytes) -> CarboyError | None:
    """Why the answer to a call was not taken, unless the run is over or the call was answered."""
    is_late = status == 404 or (status == 409 and code_of(text) == "call")
    return problem_of(status, text) if status >= 300 and not is_late else None


def may_retry(connection: Connection, trip: Trip, why: Exception) -> bool:
    """Whether a request may be sent again whose connection was lost.

    One is if the server seems to have closed an idle connection before it heard of it, and once if it has
    a key, by which the server finds the run that there is. What has an effect on a session, or opens one,
    may have been done: it is not sent again.
    """
    if trip.end is not None:
        return False
    is_new = time.monotonic() - trip.began < _SOON
    is_unheard = is_new and not isinstance(why, TimeoutError) and not trip.answer.status
    if connection.is_used and is_unheard and trip.may_repeat:
        return True
    run = trip.run
    may_again = bool(run.key) and not run.sent_again and isinstance(why, (OSError, HungUp))
    run.sent_again = run.sent_again or may_again
    return may_again


def has_interrupted(status: int, text: bytes) -> bool:
    """Whether nothing more is to be done to interrupt a run: the server has ended some, or cannot."""
    with contextlib.suppress(ValueError, RecursionError, AttributeError):
        return status != 202 or bool(json.loads(text).get("runs"))
    return True


def not_begun() -> NotStartedError:
    """For a run that is interrupted before it was sent."""
    return NotStartedError("the run was cancelled before it began")


def forked() -> EngineError:
    """For a run in a child of the process that began it."""
    return EngineGoneError("this process was forked while the run was under way")


def begin_closing(remote: Remote) -> None:
    """Ends the sessions that are left in a thread: the loop may be closed, and must not wait for a server."""
    if not in_background(remote._end_sessions):
        remote._end_sessions()


def in_background(work: Callable[[], None]) -> bool:
    """Does something in a thread that the end of the process waits for, but not long. False if it cannot."""

    def end() -> None:
        try:
            work()
        finally:
            _closing.discard(threading.current_thread())

    # No server keeps the process from its end.
    thread = threading.Thread(target=end, daemon=True)
    _closing.add(thread)
    try:
        thread.start()
    except RuntimeError:
        # The interpreter ends, and starts no more threads.
        _closing.discard(thread)
        return False
    return True


@atexit.register
def _await_closing() -> None:
    until = time.monotonic() + CLOSE_SECONDS
    for thread in list(_closing):
        thread.join(max(until - time.monotonic(), 0.0))
