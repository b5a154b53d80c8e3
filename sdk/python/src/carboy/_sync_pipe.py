"""Drives a pipe from the threads that wait for their runs. No thread is started for it.

One of the waiting threads is the leader: it reads for all of them, and wakes a thread when its
message has arrived. When its own message arrives, it makes another thread the leader before it
returns to its caller. A thread that writes never blocks; what the engine does not accept at once,
the leader writes later.
"""

from __future__ import annotations

import os
import select
import threading
import time

from ._link import SyncLink, SyncRun
from ._pipe import Pipe, closed
from ._request import Settings
from ._run import Run

# An interrupt can end a leader before it has made another thread the leader. So a sleeping thread
# checks from time to time whether that has happened.
_LOOK_AGAIN = 2.0
_CLOSING = 2.0


class SyncPipe(Pipe, SyncLink):
    """An engine whose answers are read by the threads that wait for them."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._leader: SyncRun | None = None
        # The threads that wait for the lead or for a message, oldest first.
        self._sleepers: dict[SyncRun, None] = {}
        self._poll = select.poll()
        self._poll.register(self.process.answers, select.POLLIN)
        self._alarm = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._poll.register(self._alarm, select.POLLIN)

    def wait(self, run: SyncRun) -> bytes | BaseException:
        """The next message for a run, or why there is none."""
        try:
            while True:
                with self.lock:
                    if self._leader is run:
                        self._leader = None
                    leads = self._leader is None
                    if run.inbox or (leads and self.over):
                        # It was the leader, or it may have been woken to become the leader.
                        if leads and self._sleepers:
                            self._call_a_leader()
                        return run.inbox.popleft() if run.inbox else self.late()
                    if leads:
                        self._leader = run
                    else:
                        self._fall_asleep(run)
                if leads:
                    self._lead(run)
                else:
                    self._sleep(run)
        except BaseException:
            self._resign(run)
            raise

    def look(self, run: SyncRun) -> None:
        """Reads what has arrived by now, unless another thread reads already."""
        with self.lock:
            if self._leader is not None or self.over:
                return
            self._leader = run
        try:
            while self.receive() and not self.over:
                pass
        finally:
            self._resign(run)

    def _lead(self, run: SyncRun) -> None:
        """Reads and writes for all, until there is a message for `run`."""
        answers, requests, poll = self.process.answers, self.process.requests, self._poll.poll
        inbox, writing = run.inbox, False
        while not inbox and not self.over:
            if self._outgoing and not writing:
                self._poll.register(requests, select.POLLOUT)
                writing = True
            left = self.progress.left() if self.progress.pending else None
            events = poll(None if left is None else left * 1000)
            if not events:
                self.progress.show()
            for number, _ in events:
                if number == answers:
                    self.receive()
                elif number == requests:
                    if not self.flush() and not self.over:
                        self._poll.unregister(requests)
                        writing = False
                elif not self.over:
                    os.eventfd_read(self._alarm)
        if writing and not self.over:
            self._poll.unregister(requests)

    def _resign(self, run: SyncRun) -> None:
        """Makes a sleeping thread the leader, if `run` is the leader or there is none."""
        with self.lock:
            if self._leader is run:
                self._leader = None
            self._sleepers.pop(run, None)
            self._call_a_leader()

    def _call_a_leader(self) -> None:
        """If there is no leader, wakes a sleeping thread."""
        while self._leader is None and self._sleepers:
            sleeper = next(iter(self._sleepers))
            del self._sleepers[sleeper]
            if sleeper.asleep:
                sleeper.wake()
                return

    def _fall_asleep(self, run: SyncRun) -> None:
        if run.bell is None:
            run.bell = threading.Lock()
            run.bell.acquire()
        run.asleep = True
        self._sleepers[run] = None

    def _sleep(self, run: SyncRun) -> None:
        assert run.bell is not None
        woken = run.bell.acquire(timeout=_LOOK_AGAIN)
        with self.lock:
            run.asleep = False
            self._sleepers.pop(run, None)
            leader = self._leader
            if not woken and leader is not None and leader.ended:
                self._leader = None
                self._call_a_leader()

    def _unsent(self) -> None:
        if self._leader is not None:
            os.eventfd_write(self._alarm, 1)

    def deliver(self, run: Run, error: BaseException) -> None:
        super().deliver(run, error)
        with self.lock:
            if self._leader is run and not self.over:
                os.eventfd_write(self._alarm, 1)

    def _let_go(self) -> None:
        os.close(self._alarm)

    def _forget(self) -> None:
        os.close(self._alarm)
        self._leader = None
        self._sleepers.clear()

    def retire(self) -> None:
        with self.lock:
            closer = self._lead_to_the_end()
        if closer is not None:
            self._end(closer)

    def close(self) -> None:
        """Ends the engine, and whatever still runs."""
        if not self.lock.acquire(timeout=_CLOSING):
            # A thread was stopped while it held the lock, so a clean end is not possible.
            self.process.kill()
            return
        try:
            if self.over:
                return
            self._why = closed
            is_used = bool(self._runs)
            closer = self._lead_to_the_end()
        finally:
            self.lock.release()
        if is_used or closer is None:
            self.process.kill()
        if closer is not None:
            self._end(closer)
            return
        # Another thread is reading, sees the end and cleans up.
        until = time.monotonic() + _CLOSING
        while not self.over and time.monotonic() < until:
            time.sleep(0.001)

    def _lead_to_the_end(self) -> SyncRun | None:
        """Becomes the leader, if there is none, so that nobody reads what is about to be closed."""
        if self._leader is not None:
            return None
        self._leader = SyncRun(None)
        return self._leader

    def _end(self, closer: SyncRun) -> None:
        try:
            self.gone()
        finally:
            self._resign(closer)
