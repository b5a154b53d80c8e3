"""The runs of one engine: which are queued, sent and answered.

Nothing here blocks or starts threads. It passes each message to its run, and sends the runs whose
turn it is. A thread or an event loop drives it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ._answers import LOG
from ._artifacts import new_place, remove_kept, remove_place
from ._channel import Channel
from ._errors import CarboyError, EngineError, EngineGoneError
from ._link import Link
from ._messages import PIPE_VERSION, address, decoded, failure_of, parsed
from ._progress import Progress
from ._request import Settings
from ._run import Run

# The engine runs 8 jobs per processor at once and queues up to 128 more of one caller. The others
# are queued here, first in, first out.
_WAITING_THERE = 64
# After a message of one of these kinds no other follows with its number.
_LAST = frozenset(("outcome", "failed", "session"))


class Pipe(Channel, Link):
    """An engine and its runs."""

    def __init__(self, settings: Settings) -> None:
        # Where the engine keeps artifacts, if it does. It makes the folder and removes it.
        self.place = self.artifacts = new_place() if settings.artifacts == "keep" else None
        super().__init__(settings.options(self.artifacts))
        self.progress = Progress(settings.starting())
        # The version of the interpreter, once the engine is ready.
        self.python: str | None = None
        self._has_answered = False
        self._runs: dict[int, Run] = {}
        self._greeted: list[Run] = []
        self._next = 1
        # Runs that were not sent yet.
        self._line: deque[Run] = deque()
        # Numbers of sessions that nobody holds any more.
        self._forgotten: deque[int] = deque()
        self._in_flight = 0
        processors = len(os.sched_getaffinity(0))
        self._most = max(16, 8 * processors) + _WAITING_THERE
        self._window = self._most

    # What the drivers add.

    def _let_go(self) -> None:
        """The descriptors are about to be closed."""
        raise NotImplementedError

    # Runs.

    def submit(self, run: Run) -> bool:
        """Sends a run, or lets it wait for its turn. False if this engine is gone."""
        with self.lock:
            if self.cut or self.over:
                return False
            if self.progress.pending and not self._runs:
                self.progress.begin()
            run.id = self._next
            self._next += 1
            run.pipe = self
            self._runs[run.id] = run
            self._line.append(run)
            self._pump()
            if self._forgotten:
                self.close_forgotten()
            if self.cut:
                # Not even its first byte was accepted.
                del self._runs[run.id]
                run.pipe = None
                return False
            return True

    def greet(self, run: Run) -> bool:
        """Tells `run` when the engine is ready. False if this engine is gone."""
        with self.lock:
            if self.over:
                return False
            run.pipe = self
            if self.python is not None:
                run.inbox.append(b"")
            else:
                self._greeted.append(run)
            return True

    def answer(self, run: Run, line: bytes) -> None:
        """Sends the answer to a tool call, unless the run has ended."""
        with self.lock:
            if not (run.over or run.ended):
                self._send(line)

    def deliver(self, run: Run, error: BaseException) -> None:
        """Raises something where a run is waited for."""
        with self.lock:
            run.inbox.append(error)
            run.wake()

    def interrupt(self, run: Run) -> None:
        """Ends a run that is still waited for: it is answered as one that was cancelled."""
        with self.lock:
            run.interrupted = True
            if run.sent and not (run.over or self.over):
                self._cancel(run)

    def forget_session(self, number: int) -> None:
        """Ends a session, whose end is not waited for.

        The garbage collector may call this at any moment, also while this thread holds the lock. Then
        whoever next does something with the lock sends it.
        """
        self._forgotten.append(number)
        if self.lock.acquire(blocking=False):
            try:
                self.close_forgotten()
            finally:
                self.lock.release()

    def close_forgotten(self) -> None:
        """Ends the sessions that nobody holds any more. The caller holds the lock."""
        while self._forgotten and not (self.cut or self.over):
            number = self._forgotten.popleft()
            self._send(
                b'{"session":{"id":%d,"session":%d,"ask":{"close":{}}}}\n' % (self._next, number)
            )
            self._next += 1

    def finish(self, run: Run) -> None:
        """The caller no longer waits for a run. If it is under way, it is cancelled."""
        with self.lock:
            self.finish_locked(run)

    def finish_locked(self, run: Run) -> None:
        """The same, for a caller that holds the lock."""
        if run.ended:
            return
        run.ended = True
        run.inbox.clear()
        if run.tasks is not None:
            for task in list(run.tasks):
                task.cancel()
        if run.over or self.over:
            return
        if run.sent:
            self._cancel(run)
        else:
            self._runs.pop(run.id, None)

    def _cancel(self, run: Run) -> None:
        self._send(b'{"cancel":{"id":%d}}\n' % run.id)

    def _pump(self) -> None:
        """Sends the runs whose turn it is."""
        if self.python is None or not self._begin_writing():
            return
        while self._line and self._in_flight < self._window and not self.cut:
            run = self._line.popleft()
            if run.ended:
                continue
            assert run.request is not None
            run.sent = True
            self._in_flight += 1
            self._put(b'{"%b":{"id":%d,%b' % (run.request.kind, run.id, run.request.body))
            if run.interrupted:
                self._put(b'{"cancel":{"id":%d}}\n' % run.id)
        self._writing = False

    # Messages.

    def _take_all(self, lines: list[bytes]) -> None:
        for line in lines:
            self._take(line)
        if self._line:
            self._pump()
        if self._forgotten:
            self.close_forgotten()

    def _take(self, line: bytes) -> None:
        kind, number = address(line)
        if number is None:
            self._take_general(kind, line)
            return
        run = self._runs.get(number)
        if run is None:
            return
        self.progress.clear()
        if kind in _LAST:
            self._in_flight -= 1
            if kind == "failed" and self._comes_again(run, line):
                return
            del self._runs[number]
            run.over = True
            if self._window < self._most:
                self._window += 1
            if not self._has_answered:
                self._has_answered = True
                self.progress.clear()
        if not run.ended:
            run.inbox.append(line)
            run.wake()
        elif kind == "outcome" and self.artifacts is not None:
            remove_kept(self.artifacts, line)

    def _comes_again(self, run: Run, line: bytes) -> bool:
        """Whether a run that the engine was too busy for is queued again.

        While other runs of ours are under way, they are what the engine is busy with: it waits for
        one of them to end.
        """
        try:
            kind = parsed(line)[1]["failure"]["kind"]
        except (ValueError, RecursionError, KeyError, TypeError):
            return False
        if kind != "busy" or self._in_flight == 0 or run.ended:
            return False
        self._window = self._in_flight
        run.sent = False
        self._line.appendleft(run)
        return True

    def _take_general(self, kind: str, line: bytes) -> None:
        """A message that belongs to no run."""
        body = decoded(line)[1]
        if kind == "ready" and self.python is None:
            version = body.get("pipe")
            if version != PIPE_VERSION:
                self._stop_for(_other_version(version, body.get("version")))
                return
            self.python = str(body.get("python", ""))
            for run in self._greeted:
                run.inbox.append(b"")
                run.wake()
            self._greeted.clear()
            self._pump()
        elif kind == "failed" and self.python is None:
            failure = body.get("failure", {})
            self._stop_for(lambda: failure_of(failure))
        elif kind == "failed":
            LOG.error("the engine reported: %s", failure_of(body.get("failure", {})))
        elif kind == "preloaded":
            self.progress.say(f"{body['done']} of {body['count']} preloaded: {body['module']}")
            for run in self._runs.values():
                if run.on_preload is not None and not run.ended:
                    run.inbox.append(line)
                    run.wake()
        elif self.python is None:
            self._stop_for(_other_version(None, None))

    def _stop_for(self, why: Callable[[], CarboyError]) -> None:
        """Ends the engine; the runs get the error when its end is read."""
        self._why = why
        self.cut = True
        self.process.kill()

    # The end.

    def gone(self) -> None:
        """The engine has ended or is being ended: no more messages will arrive."""
        with self.lock:
            if self.over:
                return
            self.over = self.cut = True
            waiting = [*self._runs.values(), *self._greeted]
            self._runs.clear()
            self._greeted.clear()
            self._line.clear()
            self._outgoing.clear()
            self._let_go()
        self.progress.clear()
        why = self._why
        if why is None:
            self.process.hang_up()
            was_ready = self.python is not None
            errors = [self.process.why_gone(was_ready) for _ in waiting]
        else:
            errors = [why() for _ in waiting]
        self.process.close()
        if self.artifacts is not None:
            remove_place(self.artifacts)
        with self.lock:
            for run, error in zip(waiting, errors, strict=True):
                run.over = True
                if not run.ended:
                    run.inbox.append(error)
                    run.wake()

    def retire(self) -> None:
        """The engine accepts no more requests, and another replaces it."""
        if not self._runs:
            self.gone()

    def late(self) -> CarboyError:
        """The error for a caller that begins to wait after the end."""
        return EngineGoneError("the engine is gone") if self._why is None else self._why()

    def after_fork(self) -> None:
        """In a forked child: the engine and its runs belong to the parent."""
        self.lock = threading.Lock()
        waiting = [] if self.over else [*self._runs.values(), *self._greeted]
        was_over, self.over, self.cut = self.over, True, True
        self._runs.clear()
        self._greeted.clear()
        self._line.clear()
        if not was_over:
            self._forget()
            self.process.forget()
        for run in waiting:
            run.over = True
            run.inbox.append(EngineGoneError("this process was forked while the run was under way"))
            run.wake()

    def _forget(self) -> None:
        """Closes the driver's own descriptors in a forked child."""


def closed() -> CarboyError:
    """For a run whose box was closed."""
    return EngineGoneError("the sandbox was closed while the run was under way")


def _other_version(version: Any, engine: Any) -> Callable[[], CarboyError]:
    def why() -> CarboyError:
        uses = "does not name a version of the pipe protocol"
        if version is not None:
            uses = f"uses version {version} of the pipe protocol"
        name = f"the engine (carboy {engine})" if engine else "the engine"
        return EngineError(
            f"{name} {uses}, and this package uses version {PIPE_VERSION}",
            hint="install both from one release; CARBOY_BINARY may name another program",
        )

    return why
