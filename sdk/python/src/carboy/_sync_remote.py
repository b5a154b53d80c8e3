"""Drives runs on a server from the threads that wait for them. No thread is started for that."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque

from ._address import Address
from ._client import advanced
from ._connection import Connection
from ._errors import BusyError, CarboyError
from ._http import MOST_BODY, Broken, Over, Step, Steps
from ._link import SyncLink, SyncRun
from ._pipe import closed
from ._problems import problem_of
from ._remote import (
    CLOSE_SECONDS,
    INTERRUPT_SECONDS,
    INTERRUPT_STEP,
    Remote,
    answer_body,
    answer_fault,
    forked,
    has_interrupted,
    may_retry,
)
from ._request import Settings
from ._run import Run
from ._trip import Trip, lost

# How long a server that starts is waited for.
READY_SECONDS = 60.0
READY_STEP = 0.05


class _Leg:
    """A trip on a connection."""

    def __init__(self, trip: Trip, connection: Connection) -> None:
        self.trip = trip
        self.connection = connection
        self.steps: Steps = connection.steps(trip.steps())
        self.step: Step = next(self.steps)
        # A thread does a step. Others must not close the connection then.
        self.is_busy = False


class SyncRemote(Remote, SyncLink):
    """A server whose answers are read by the threads that wait for them."""

    def __init__(self, settings: Settings, address: Address) -> None:
        super().__init__(settings, address)
        self._turns = threading.Condition(self.lock)
        self._legs: dict[Run, _Leg] = {}
        # Sessions that nobody holds any more.
        self._forgotten: deque[int] = deque()

    def submit(self, run: Run) -> bool:
        self._close_forgotten()
        if not self._registered(run):
            return False
        with self.lock:
            has_turn = not run.over and self._take_turn(run)
        if has_turn:
            self._begin(run)
        return True

    def greet(self, run: Run) -> bool:
        if self.over:
            return False
        run.pipe = self
        try:
            self._await_ready()
        except CarboyError as error:
            run.inbox.append(error)
        else:
            run.inbox.append(b"")
        return True

    def _await_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while True:
            # It also shows whether the key is one.
            answer, text = self.client.ask("GET", "/readyz")
            if answer.status == 200:
                break
            error = problem_of(answer.status, text)
            if not isinstance(error, BusyError) or time.monotonic() > until:
                raise error
            time.sleep(READY_STEP)
        answer, text = self.client.ask("GET", "/v1/policies")
        if answer.status == 401:
            raise problem_of(answer.status, text)

    def wait(self, run: SyncRun) -> bytes | BaseException:
        while True:
            with self.lock:
                while True:
                    if run.inbox:
                        return run.inbox.popleft()
                    leg = self._legs.get(run)
                    if run.ended or run.over:
                        return closed()
                    if leg is not None or self._take_turn(run):
                        break
                    self._turns.wait()
                if leg is not None:
                    leg.is_busy = True
            if leg is None:
                self._begin(run)
            else:
                self._go_on(run, leg)

    def look(self, run: SyncRun) -> None:
        while True:
            with self.lock:
                leg = self._legs.get(run)
                if leg is None or run.over or run.ended:
                    return
                if not leg.connection.has_data():
                    return
                leg.is_busy = True
            self._go_on(run, leg)

    def _begin(self, run: Run) -> None:
        """Sends a run whose turn it is."""
        try:
            leg = _Leg(Trip(self.there, run), self.client.take())
        except CarboyError as error:
            self._at_end(run, None, error)
            return
        except BaseException:
            self._at_end(run, None, closed())
            raise
        with self.lock:
            leg.is_busy = True
            self._legs[run] = leg
        # The request goes out now, although nobody may wait for the run yet.
        self._go_on(run, leg)

    def _go_on(self, run: Run, leg: _Leg) -> None:
        """Does a step of a run."""
        is_over = False
        end: bytes | BaseException | None = None
        try:
            leg.step = advanced(leg.connection.socket, leg.steps, leg.step)
        except Over:
            is_over = True
        except (OSError, Broken) as error:
            if not run.ended and not run.over and may_retry(leg.connection, leg.trip, error):
                self._try_again(run, leg, error)
                return
            end = lost(error)
        finally:
            leg.is_busy = False
        end = leg.trip.end or end
        if end is not None or is_over:
            self._at_end(run, leg, end or lost("the answer has no end"))
        elif run.ended or run.over:
            leg.connection.close()

    def _try_again(self, run: Run, leg: _Leg, why: Exception) -> None:
        """The server had closed the connection before it heard of the run."""
        leg.connection.close()
        try:
            again = _Leg(Trip(self.there, run), self.client.fresh())
        except CarboyError:
            self._at_end(run, leg, lost(why))
            return
        with self.lock:
            is_wanted = self._legs.get(run) is leg
            if is_wanted:
                self._legs[run] = again
        if not is_wanted:
            # It was stopped meanwhile.
            again.connection.close()

    def _at_end(self, run: Run, leg: _Leg | None, end: bytes | BaseException) -> None:
        with self.lock:
            was_known = leg is None or self._legs.pop(run, None) is not None
            if was_known:
                self._ended(run, end)
                self._turns.notify_all()
        if leg is None:
            return
        if leg.trip.answer.over:
            keeps = leg.trip.answer.keeps
        else:
            keeps = not isinstance(end, BaseException) and self._drained(leg)
        if keeps:
            self.client.give_back(leg.connection)
        else:
            leg.connection.close()

    def _drained(self, leg: _Leg) -> bool:
        """Whether the few bytes that follow the outcome are there."""
        try:
            while leg.connection.has_data():
                leg.step = advanced(leg.connection.socket, leg.steps, leg.step)
        except Over:
            return leg.trip.answer.keeps
        except (OSError, Broken):
            pass
        return False

    def answer(self, run: Run, line: bytes) -> None:
        with self.lock:
            leg = self._legs.get(run)
            if leg is None or run.over or run.ended:
                return
        path, body = self._answer_path(leg.trip), answer_body(line)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            self._post(run, path, body)
        else:
            # The loop of tools that are awaited must not wait for a server.
            threading.Thread(target=self._post, args=(run, path, body), daemon=True).start()

    def _post(self, run: Run, path: str, body: bytes) -> None:
        try:
            answer, text = self.client.ask("POST", path, body)
            fault = answer_fault(answer.status, text)
        except CarboyError as error:
            fault = error
        if fault is not None:
            self.deliver(run, fault)

    def deliver(self, run: Run, error: BaseException) -> None:
        with self.lock:
            if run.ended:
                return
            run.inbox.append(error)
            leg = self._legs.get(run)
            if leg is not None:
                # Whoever waits for the run reads, and sees this in place of what came.
                leg.connection.cut()
            self._turns.notify_all()

    def _stop(self, run: Run) -> None:
        leg = self._legs.pop(run, None)
        if leg is None:
            return
        self._in_flight -= 1
        self._turns.notify_all()
        leg.connection.cut()
        if not leg.is_busy:
            leg.connection.close()

    def interrupt(self, run: Run) -> None:
        with self.lock:
            leg = self._legs.get(run)
            path = self._interrupted(run)
            self._turns.notify_all()
        until = time.monotonic() + INTERRUPT_SECONDS
        while path is not None and not run.over and not run.ended and time.monotonic() < until:
            try:
                answer, text = self.client.ask("POST", path)
            except CarboyError:
                return
            if has_interrupted(answer.status, text):
                return
            # The server has not heard of it yet, or it is over and nobody has read that.
            if leg is not None and not leg.is_busy and isinstance(run, SyncRun):
                self.look(run)
            time.sleep(INTERRUPT_STEP)

    def ask_of_job(
        self, method: str, path: str, body: bytes | None = None, more: str = ""
    ) -> tuple[int, bytes]:
        """One request about a durable job, whose answer may be as long as an outcome."""
        answer, text = self.client.ask(method, path, body, most=MOST_BODY, more=more)
        return answer.status, text

    def forget_session(self, number: int) -> None:
        # The garbage collector may call this at any moment: whoever asks for something next ends it.
        self._forgotten.append(number)

    def _close_forgotten(self) -> None:
        while True:
            try:
                # Another thread may take the last one.
                number = self._forgotten.popleft()
            except IndexError:
                return
            try:
                self._end_session(number, CLOSE_SECONDS)
            except CarboyError:
                # It ends with the box, or when nobody uses it for a while.
                continue

    def close(self) -> None:
        with self.lock:
            for run in self._shut():
                self._stop(run)
            self._turns.notify_all()
        self._end_sessions()
        self.client.close()

    def after_fork(self) -> None:
        self.lock = threading.Lock()
        self._turns = threading.Condition(self.lock)
        self.over = True
        self.there.sessions.clear()
        for leg in self._legs.values():
            leg.connection.close()
        self._legs.clear()
        for run in list(self._runs.values()):
            self._tell(run, forked())
        self.client.after_fork()
