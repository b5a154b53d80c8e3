"""Drives runs on a server from an asyncio event loop: a task for each. No thread is started for that."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections import deque
from collections.abc import Coroutine
from typing import Any

from ._address import Address
from ._client import MOST_IDLE, PATIENCE, content_type
from ._connection import CONNECT_SECONDS, READ_SIZE, Connection, Tls, unreachable
from ._errors import BusyError, CarboyError
from ._http import (
    MOST_ANSWER,
    Answer,
    Body,
    Broken,
    Over,
    Step,
    Steps,
    exchange,
    following,
)
from ._link import AsyncLink
from ._problems import problem_of
from ._remote import (
    INTERRUPT_SECONDS,
    INTERRUPT_STEP,
    Remote,
    answer_body,
    answer_fault,
    begin_closing,
    forked,
    has_interrupted,
    may_retry,
)
from ._request import Settings
from ._run import Run
from ._sync_remote import READY_SECONDS, READY_STEP
from ._trip import Trip, lost


class AsyncRemote(Remote, AsyncLink):
    """A server whose answers are read by an event loop."""

    def __init__(
        self, settings: Settings, address: Address, loop: asyncio.AbstractEventLoop
    ) -> None:
        super().__init__(settings, address)
        self.loop = loop
        self._idle: list[Connection] = []
        self._used: set[Connection] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._trips: dict[Run, Trip] = {}
        self._tasks: dict[Run, asyncio.Task[None]] = {}
        # Tasks that belong to no run. The loop itself has only weak references.
        self._others: set[asyncio.Task[None]] = set()

    # Runs.

    def submit(self, run: Run) -> bool:
        if not self._registered(run):
            return False
        if not run.over:
            self._tasks[run] = self.loop.create_task(self._travel(run))
        return True

    def greet(self, run: Run) -> bool:
        if self.over:
            return False
        run.pipe = self
        self._aside(self._await_ready(run))
        return True

    async def _await_ready(self, run: Run) -> None:
        said: bytes | BaseException = b""
        until = time.monotonic() + READY_SECONDS
        try:
            while True:
                status, text = await self.ask("GET", "/readyz", None)
                if status == 200:
                    break
                error = problem_of(status, text)
                if not isinstance(error, BusyError) or time.monotonic() > until:
                    raise error
                await asyncio.sleep(READY_STEP)
            # It also shows whether the key is one.
            status, text = await self.ask("GET", "/v1/policies", None)
            if status == 401:
                said = problem_of(status, text)
        except CarboyError as error:
            said = error
        except Exception as error:
            said = lost(error)
        run.inbox.append(said)
        run.wake()

    async def _travel(self, run: Run) -> None:
        """Sends a run at its turn, as often as needed, and passes on what is said about it."""
        try:
            while True:
                while not self._take_turn(run):
                    await self._next_turn()
                end: bytes | BaseException = asyncio.CancelledError()
                try:
                    end = await self._sent(run)
                except CarboyError as error:
                    end = error
                except Exception as error:
                    # Whoever waits for the run has to hear of it.
                    end = lost(error)
                finally:
                    is_told = run.over or self._ended(run, end)
                    self._call_next()
                if is_told:
                    return
        finally:
            self._tasks.pop(run, None)
            self._trips.pop(run, None)

    async def _next_turn(self) -> None:
        turn = self.loop.create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            # The turn may have come at the same moment: it is somebody else's.
            self._call_next()
            raise

    def _call_next(self) -> None:
        while self._waiting and self._in_flight < self._window:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return

    async def _sent(self, run: Run) -> bytes | BaseException:
        """The end of a run, after one exchange."""
        trip = Trip(self.there, run)
        connection = await self._taken()
        while True:
            self._trips[run] = trip
            steps = connection.steps(trip.steps())
            try:
                step = next(steps)
                while True:
                    step = await self._advanced(connection, steps, step)
                    if run.inbox:
                        run.wake()
                    if trip.end is not None and not trip.answer.over:
                        # Only the end of the answer is left, which nobody has to wait for.
                        self._aside(self._drain(connection, trip.answer, steps, step))
                        return trip.end
            except Over:
                self._give_back(connection, trip.answer)
                return trip.end or lost("the answer has no end")
            except (OSError, Broken) as error:
                self._drop(connection)
                if trip.end is not None:
                    return trip.end
                if not may_retry(connection, trip, error):
                    return lost(error)
                try:
                    trip = Trip(self.there, run)
                    connection = await self._fresh()
                except CarboyError:
                    return lost(error)
            except BaseException:
                self._drop(connection)
                raise

    async def _drain(
        self, connection: Connection, answer: Answer, steps: Steps, step: Step
    ) -> None:
        try:
            while True:
                step = await self._advanced(connection, steps, step)
        except Over:
            self._give_back(connection, answer)
        except (OSError, Broken):
            self._drop(connection)
        except BaseException:
            self._drop(connection)
            raise

    def answer(self, run: Run, line: bytes) -> None:
        trip = self._trips.get(run)
        if trip is None or run.over or run.ended:
            return
        self._aside(self._post(run, self._answer_path(trip), answer_body(line)))

    async def _post(self, run: Run, path: str, body: bytes) -> None:
        try:
            fault = answer_fault(*await self.ask("POST", path, body))
        except CarboyError as error:
            fault = error
        except Exception as error:
            fault = lost(error)
        if fault is not None:
            self.deliver(run, fault)

    def deliver(self, run: Run, error: BaseException) -> None:
        if not run.ended:
            run.inbox.append(error)
            run.wake()

    def _stop(self, run: Run) -> None:
        task = self._tasks.get(run)
        if task is not None and not self.loop.is_closed():
            task.cancel()

    def interrupt(self, run: Run) -> None:
        path = self._interrupted(run)
        if path is not None:
            self._aside(self._interrupt(run, path))
        elif run in self._tasks:
            self._tasks[run].cancel()

    async def _interrupt(self, run: Run, path: str) -> None:
        until = time.monotonic() + INTERRUPT_SECONDS
        with contextlib.suppress(CarboyError, OSError):
            while not run.over and not run.ended and time.monotonic() < until:
                if has_interrupted(*await self.ask("POST", path, None)):
                    return
                await asyncio.sleep(INTERRUPT_STEP)

    def forget_session(self, number: int) -> None:
        if number in self.there.sessions and not self.loop.is_closed():
            self._aside(self._forget(number))

    async def _forget(self, number: int) -> None:
        # If this is cancelled because the box is closed, the session ends with the others that are left.
        with contextlib.suppress(CarboyError, OSError):
            status, _ = await self.ask("DELETE", self.there.session_path(number), None)
            self.there.closed(number, status)

    def close(self) -> None:
        for run in self._shut():
            self._stop(run)
        if self.there.sessions:
            begin_closing(self)
        if self.loop.is_closed():
            for connection in list(self._used):
                self._drop(connection)
        else:
            for task in self._others:
                task.cancel()
        self._forget_idle()
        self.client.close()

    def after_fork(self) -> None:
        self.over = True
        self.there.sessions.clear()
        self.client.after_fork()
        for connection in list(self._used):
            self._drop(connection)
        self._forget_idle()
        for run in list(self._runs.values()):
            self._tell(run, forked())

    # Connections.

    def _aside(self, work: Coroutine[Any, Any, None]) -> None:
        task = self.loop.create_task(work)
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def _taken(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            self._drop(connection)
        return await self._fresh()

    async def _fresh(self) -> Connection:
        address, tls = self.address, None
        try:
            sock = await asyncio.wait_for(self._connected(), CONNECT_SECONDS)
            if address.tls is not None:
                tls = Tls(address.tls, address.host)
            connection = Connection(sock, tls)
            self._used.add(connection)
            try:
                if tls is not None:
                    await asyncio.wait_for(
                        self._drive(connection, tls.handshake()), CONNECT_SECONDS
                    )
            except BaseException:
                self._drop(connection)
                raise
            return connection
        except (OSError, Broken, asyncio.TimeoutError) as error:
            raise unreachable(address, error) from None

    async def _connected(self) -> socket.socket:
        address = self.address
        if address.socket is not None:
            return await self._connected_to(socket.AF_UNIX, address.socket)
        found = await self.loop.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)
        failure: OSError | None = None
        for family, _, _, _, where in found:
            try:
                return await self._connected_to(family, where)
            except OSError as error:
                failure = error
        raise failure or OSError("the name of the server has no address")

    async def _connected_to(self, family: int, where: Any) -> socket.socket:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            await self.loop.sock_connect(sock, where)
            return sock
        except BaseException:
            sock.close()
            raise

    def _give_back(self, connection: Connection, answer: Answer) -> None:
        if answer.keeps and not self.over and len(self._idle) < MOST_IDLE:
            connection.rest()
            self._idle.append(connection)
        else:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        self._used.discard(connection)
        connection.close()

    def _forget_idle(self) -> None:
        while self._idle:
            self._drop(self._idle.pop())

    async def ask(
        self,
        method: str,
        path: str,
        body: bytes | None,
        more: str = "",
        most: int = MOST_ANSWER,
    ) -> tuple[int, bytes]:
        """One request, and the status and body of its answer."""
        head = self.address.request(method, path, body, content_type(body) + more)
        connection = await self._taken()
        while True:
            answer = Answer()
            held = Body(most)
            steps = connection.steps(exchange(answer, head, body or b"", held.take))
            try:
                await asyncio.wait_for(self._drive(connection, steps), PATIENCE)
            except (OSError, Broken, asyncio.TimeoutError) as error:
                self._drop(connection)
                is_late = isinstance(error, (TimeoutError, asyncio.TimeoutError))
                if not connection.is_used or answer.status or is_late:
                    raise lost(error) from None
                connection = await self._fresh()
                continue
            except BaseException:
                self._drop(connection)
                raise
            self._give_back(connection, answer)
            return answer.status, held.text()

    async def _drive(self, connection: Connection, steps: Steps) -> None:
        with contextlib.suppress(Over):
            step = following(steps, None)
            while True:
                step = await self._advanced(connection, steps, step)

    async def _advanced(self, connection: Connection, steps: Steps, step: Step) -> Step:
        """Does one step, and gives the next. Raises `Over` after the last."""
        sock = connection.socket
        try:
            if isinstance(step, bytes):
                await self.loop.sock_sendall(sock, step)
                result = None
            elif step is None:
                result = await self.loop.sock_recv(sock, READ_SIZE)
            else:
                try:
                    receiving = self.loop.sock_recv(sock, READ_SIZE)
                    result = await asyncio.wait_for(receiving, step)
                except asyncio.TimeoutError:
                    result = None
        except OSError as error:
            if not isinstance(step, bytes):
                raise
            return following(steps, error)
        return following(steps, result)
