"""Sessions for programs with an asyncio event loop."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any

from ._async_listen import answer_of, next_of
from ._async_stream import AsyncSessionStream
from ._errors import CarboyError
from ._link import AsyncLink, AsyncRun
from ._outcome import SessionOutcome
from ._record import Chunk
from ._request import OnError, Request, Settings, asking, is_raise, named
from ._session_base import SessionBase, Variables
from ._tools import ToolLike


class AsyncSession(SessionBase[AsyncLink, AsyncRun]):
    """A `Session` whose runs are awaited: `async with box.session() as s`, or `s = await box.session()`.

    Cancelling the task that waits for a run ends the run; the state is what it was before it.
    """

    def __init__(
        self,
        settings: Settings,
        raises: bool,
        submitted: Callable[[AsyncRun], AsyncLink] | None = None,
        opening: Callable[[int], Request] | None = None,
    ) -> None:
        super().__init__(settings, raises)
        # How it is opened, and with what, until it is.
        self._submitted = submitted
        self._opening = opening

    async def run(
        self,
        code: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        tools: Iterable[ToolLike] = (),
        on_output: Callable[[Chunk], object] | None = None,
        on_error: OnError | None = None,
        timeout: float | None = None,
        rollback: bool = False,
    ) -> SessionOutcome:
        """Runs code; what it defines is there for the next. See `Session.run`.

        If `on_output` returns something that can be awaited, that is done.
        """
        raises = self._raises if on_error is None else is_raise(on_error)
        request = self._settings.piece(
            self._number, code, inputs, tools, timeout, on_output is not None, rollback
        )
        run = AsyncRun(request)
        self._under_way.add(run)
        try:
            pipe = self._sent(run)
            while True:
                found = await next_of(pipe, run)
                if isinstance(found, SessionOutcome):
                    break
                if on_output is not None and isinstance(found, Chunk):
                    done = on_output(found)
                    if inspect.isawaitable(done):
                        await done
        finally:
            self._under_way.discard(run)
            run.finish()
        if raises:
            found.raise_for_error()
        return found

    def stream(
        self,
        code: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        tools: Iterable[ToolLike] = (),
        on_error: OnError | None = None,
        timeout: float | None = None,
        rollback: bool = False,
    ) -> AsyncSessionStream:
        """Runs code and gives its output as it comes: `async for chunk in s.stream(code)`.

        Leaving the stream early interrupts the run; the state is what it was before it.
        """
        raises = self._raises if on_error is None else is_raise(on_error)
        run = AsyncRun(
            self._settings.piece(self._number, code, inputs, tools, timeout, True, rollback)
        )
        stream = AsyncSessionStream(self._sent(run), run, raises, self._under_way)
        self._under_way.add(run)
        return stream

    async def variables(self) -> Variables:
        """What the code has defined: names, types, and sizes where they are known."""
        return Variables((await self._ask(b'{"variables":{}}'))["variables"])

    async def branch(self) -> AsyncSession:
        """Another session that goes on from the same state, beside this one. Files are shared.

        It is refused while code has threads beside the main one: the copy would lack them.
        """
        branch = AsyncSession(self._settings, self._raises)
        branch._pipe = self._pipe
        try:
            await self._ask(b'{"branch":{"session":%d}}' % branch._number)
        except BaseException:
            branch._abandon()
            raise
        return branch

    async def checkpoint(self, name: str) -> None:
        """Keeps the state as it is now under a name. One of that name is replaced."""
        await self._ask(named("checkpoint", name))

    async def rollback(self, name: str) -> None:
        """Goes back to the state that was kept under this name, which stays. Files do not go back."""
        await self._ask(named("rollback", name))

    async def checkpoints(self) -> list[str]:
        """The names of what is kept."""
        names: list[str] = (await self._ask(b'{"checkpoints":{}}'))["checkpoints"]["names"]
        return names

    async def drop(self, name: str) -> None:
        """Forgets what is kept under this name."""
        await self._ask(named("drop", name))

    async def close(self) -> None:
        """Ends the session and its branches; of a branch, only that. What runs in it is interrupted."""
        pipe = self._left()
        if pipe is None:
            return
        self.interrupt()
        run = AsyncRun(asking(self._number, b'{"close":{}}'))
        try:
            if pipe.submit(run):
                await answer_of(pipe, run)
        except CarboyError:
            # With its engine it has ended too.
            pass
        finally:
            run.finish()

    async def __aenter__(self) -> AsyncSession:
        await self._open()
        return self

    def __await__(self) -> Generator[Any, None, AsyncSession]:
        return self.__aenter__().__await__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        self._abandon()

    async def _ask(self, ask: bytes) -> dict[str, Any]:
        run = AsyncRun(asking(self._number, ask))
        try:
            return await answer_of(self._sent(run), run)
        finally:
            run.finish()

    async def _open(self) -> None:
        """Opens it, unless it is open."""
        submitted, self._submitted = self._submitted, None
        opening, self._opening = self._opening, None
        if submitted is None or opening is None:
            return
        # Writing frames may take long.
        run = AsyncRun(await asyncio.to_thread(opening, self._number))
        try:
            self._pipe = submitted(run)
            await answer_of(self._pipe, run)
        except BaseException:
            self._abandon()
            raise
        finally:
            run.finish()

    def _abandon(self) -> None:
        """Ends it without waiting; also from the garbage collector, at any moment, in any thread."""
        pipe = self._left()
        if pipe is not None and not pipe.over:
            with suppress(RuntimeError):
                pipe.loop.call_soon_threadsafe(pipe.forget_session, self._number)
