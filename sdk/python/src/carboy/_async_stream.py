"""The output of a run as it comes, for programs with an asyncio event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from types import TracebackType

from ._async_listen import next_of
from ._box import Stream, session_outcome
from ._link import AsyncLink, AsyncRun
from ._outcome import SessionOutcome
from ._record import Chunk


class AsyncRunStream(Stream[AsyncLink, AsyncRun]):
    """The output of a run, chunk by chunk; its `outcome` when that has ended.

    The code's tool calls are served while somebody iterates. Leaving it early, as an asynchronous
    context manager or with `close()`, cancels the run.
    """

    def __init__(
        self,
        pipe: AsyncLink,
        run: AsyncRun,
        raises: bool,
        writing: asyncio.Task[AsyncLink] | None = None,
    ) -> None:
        super().__init__(pipe, run, raises)
        # Submits the run, when its frames are written.
        self._writing = writing

    def close(self) -> None:
        """Cancels the run if it is under way."""
        _end(self._run, self._writing)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        return self

    async def __anext__(self) -> Chunk:
        if self._run.ended:
            raise StopAsyncIteration
        try:
            await self._submitted()
            found = await next_of(self._pipe, self._run)
        except BaseException:
            self.close()
            raise
        chunk = self._chunk(found)
        if chunk is None:
            raise StopAsyncIteration
        return chunk

    async def __aenter__(self) -> AsyncRunStream:
        try:
            await self._submitted()
        except BaseException:
            self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    async def _submitted(self) -> None:
        if self._writing is not None:
            self._pipe = await self._writing
            self._writing = None

    def __del__(self) -> None:
        # The garbage collector may call this at any moment, in any thread, and after the loop was closed.
        if not self._run.ended:
            with suppress(RuntimeError):
                self._pipe.loop.call_soon_threadsafe(_end, self._run, self._writing)


class AsyncSessionStream(AsyncRunStream):
    """A `SessionStream` whose chunks are awaited: `async for chunk in s.stream(code)`."""

    def __init__(
        self, pipe: AsyncLink, run: AsyncRun, raises: bool, under_way: set[AsyncRun]
    ) -> None:
        super().__init__(pipe, run, raises)
        # The runs of the session that can be interrupted.
        self._under_way = under_way

    @property
    def outcome(self) -> SessionOutcome:
        """What came of the run and what is left of the state, once its output has ended."""
        return session_outcome(super().outcome)

    def close(self) -> None:
        """Interrupts the run if it is under way."""
        self._under_way.discard(self._run)
        super().close()

    async def __aenter__(self) -> AsyncSessionStream:
        return self

    def __del__(self) -> None:
        self._under_way.discard(self._run)
        super().__del__()


def _end(run: AsyncRun, writing: asyncio.Task[AsyncLink] | None) -> None:
    """The caller no longer waits for a run. One that is not submitted yet never is."""
    if writing is not None:
        writing.cancel()
    if run.pipe is None:
        run.ended = True
    run.finish()
