"""The runs of a box on a server: which wait for their turn, and what the server says about each.

Each run is a request of its own, on a connection of its own while it is under way. What is said about
it becomes the same messages that come from a pipe. Nothing here does I/O.
"""

from __future__ import annotations

import re
import threading
import time
from functools import partial

from ._address import Address
from ._client import Client, KeptThere
from ._connection import Connection
from ._errors import BusyError, CarboyError, EngineError, EngineGoneError, RequestError
from ._http import MOST_BODY, Answer, Broken, Events, Steps, exchange
from ._link import Link
from ._pipe import closed
from ._problems import problem_of
from ._request import Settings
from ._run import Run

# Runs of one box that are under way at once at most, each on its own connection.
_MOST = 64
# A connection that ends sooner after a request was closed before it came.
_SOON = 1.0
_ID = re.compile("[0-9a-f]{32}")
# How every outcome begins.
_OUTCOME = re.compile(rb'\s*\{"id":"[0-9a-f]*","status":"')
_STREAM = "text/event-stream"


class Trip:
    """One run's request to the server, and what comes back."""

    def __init__(self, remote: Remote, run: Run) -> None:
        assert run.request is not None
        self.run = run
        self.began = time.monotonic()
        # The last message about the run, once it is there.
        self.end: bytes | BaseException | None = None
        self.id = ""
        self.answer = Answer()
        self._events = Events()
        self._parts: list[bytes] = []
        self._held = 0
        more = "Content-Type: application/json\r\n"
        if run.request.streams:
            more += f"Accept: {_STREAM}\r\n"
        body = run.request.body
        self._head = remote.address.request("POST", remote.runs_path, body, more)
        self._body = body

    def steps(self) -> Steps:
        """What is to be done on a connection."""
        return exchange(self.answer, self._head, self._body, self._take)

    def _take(self, part: bytes) -> None:
        answer = self.answer
        if answer.status == 200 and answer.headers.get("content-type", "").startswith(_STREAM):
            self.id = answer.headers.get("carboy-run", "")
            if _ID.fullmatch(self.id) is None:
                raise Broken("the answer has no usable id of the run")
            for name, data in self._events.feed(part):
                self._hear(name, data)
            if answer.over and self.end is None:
                self.end = lost("the answer ended before the run did")
            return
        if part:
            self._parts.append(part)
            self._held += len(part)
            if self._held > MOST_BODY:
                raise Broken("the answer is too long")
        if answer.over:
            text = b"".join(self._parts)
            if answer.status == 200:
                self._hear("outcome", text)
            elif answer.status == 503 and b'"code":"closed"' in text:
                # Nothing was begun: the connection was idle, and another was given its place.
                answer.status = 0
                raise Broken("the server closed the connection for another")
            else:
                self.end = problem_of(answer.status, text)

    def _hear(self, name: str, data: bytes) -> None:
        if name == "outcome":
            if _OUTCOME.match(data) is None:
                raise Broken("what was answered is not an outcome")
            self.end = b'{"outcome":{"id":%d,"outcome":%b}}' % (self.run.id, data)
        elif name == "failed":
            self.end = problem_of(500, data)
        elif name in ("output", "call"):
            self.run.inbox.append(b'{"%b":%b}' % (name.encode(), data))


class Remote(Link):
    """A server and the runs of one box there."""

    def __init__(self, settings: Settings, address: Address) -> None:
        self.address = address
        self.client = Client(address)
        self.place = partial(KeptThere, self.client) if settings.artifacts == "keep" else None
        self.python = None
        self.runs_path = f"/v1/runs?artifacts={settings.artifacts}"
        self.lock = threading.Lock()
        # No more runs are accepted.
        self.over = False
        self._runs: dict[int, Run] = {}
        self._next = 1
        self._in_flight = 0
        # How many runs were answered with an end.
        self._ends = 0
        self._window = _MOST

    def _registered(self, run: Run) -> bool:
        """Takes a run in. False if the box was closed."""
        if run.request is not None and run.request.kind != b"run":
            raise RequestError(
                "a server cannot hold sessions for this package yet",
                hint="open sessions in a Sandbox without url=",
            )
        with self.lock:
            if self.over:
                return False
            run.id, run.pipe = self._next, self
            self._next += 1
            self._runs[run.id] = run
            return True

    def _take_turn(self, run: Run) -> bool:
        """Whether a run can be sent now, which then has to be. The lock is held."""
        has_turn = self._in_flight < self._window
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
            self._leave(run)
            self._stop(run)

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
            self._tell(run, closed())
        return runs

    def interrupt(self, run: Run) -> None:
        raise NotImplementedError("there are no sessions")

    def forget_session(self, number: int) -> None:
        raise NotImplementedError("there are no sessions")

    def retire(self) -> None:
        """Nothing of a server has to be replaced."""

    def _answer_path(self, trip: Trip) -> str:
        return f"/v1/runs/{trip.id}/answers"


def answer_body(line: bytes) -> bytes:
    """The answer to a call, of the line that a pipe would get: `{"answer":{"id":1,"call":...}}`."""
    return b"{" + line[line.index(b",") + 1 : line.rindex(b"}")]


def answer_fault(status: int, text: bytes) -> CarboyError | None:
    """Why the answer to a call was not taken, unless the run is over anyway."""
    return problem_of(status, text) if status >= 300 and status != 404 else None


def may_retry(connection: Connection, trip: Trip) -> bool:
    """Whether the server seems to have closed an idle connection before it heard of the run.

    If it did hear of it, it has ended the run with the connection, and nobody was told of it.
    """
    is_new = time.monotonic() - trip.began < _SOON
    return connection.is_used and is_new and not trip.answer.status


def lost(why: object) -> EngineError:
    """For a run whose connection ended."""
    return EngineGoneError(
        "the connection to the server was lost while the run was under way",
        [str(why) or type(why).__name__],
        "the server ends a run whose caller is gone; the next one makes another connection",
    )


def forked() -> EngineError:
    """For a run in a child of the process that began it."""
    return EngineGoneError("this process was forked while the run was under way")
