"""The box for programs with an asyncio event loop."""

from __future__ import annotations

import asyncio
import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from ._async_jobs import AsyncJob
from ._async_listen import next_of
from ._async_pipe import AsyncPipe
from ._async_remote import AsyncRemote
from ._async_session import AsyncSession
from ._async_stream import AsyncRunStream
from ._box import Box, closed_box
from ._check import Violation
from ._data_frames import FrameLike
from ._errors import EngineError, RequestError
from ._files import FileLike, PathLike
from ._http import MOST_BODY
from ._jobs import Submission, checked_id, told, without_server
from ._link import AsyncLink, AsyncRun
from ._outcome import Outcome
from ._policy import PolicyLike
from ._record import Chunk, Preloaded
from ._request import OnError, Request, has_frames
from ._tools import ToolLike


class AsyncSandbox(Box[AsyncLink]):
    """A `Sandbox` whose runs are awaited. It belongs to the event loop it is first used in.

    Cancelling the task that waits for a run cancels the run. Tools that are `async def` run as
    tasks of the loop; all others run one after the other in one thread.
    """

    async def run(
        self,
        code: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        files: Mapping[str, FileLike] | None = None,
        mounts: Mapping[str, PathLike] | None = None,
        frames: Mapping[str, FrameLike] | None = None,
        policy: PolicyLike | None = None,
        tools: Iterable[ToolLike] = (),
        on_output: Callable[[Chunk], object] | None = None,
        on_error: OnError | None = None,
        timeout: float | None = None,
    ) -> Outcome:
        """Runs code in a fresh jar and returns what came of it. See `Sandbox.run`.

        If `on_output` returns something that can be awaited, that is done.
        """
        raises = self._raises(on_error)
        settings = self._settings
        has_output = on_output is not None
        if inputs and has_frames(inputs):
            # Writing them may take long.
            request = await asyncio.to_thread(
                settings.request,
                *(code, inputs, policy, tools, timeout, has_output, files, mounts, frames),
            )
        else:
            request = settings.request(
                code, inputs, policy, tools, timeout, has_output, files, mounts, frames
            )
        run = AsyncRun(request)
        try:
            pipe = self._submitted(run)
            while True:
                found = await next_of(pipe, run)
                if type(found) is Outcome:
                    break
                if on_output is not None and type(found) is Chunk:
                    done = on_output(found)
                    if inspect.isawaitable(done):
                        await done
        finally:
            run.finish()
        return found.raise_for_error() if raises else found

    def stream(
        self,
        code: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        files: Mapping[str, FileLike] | None = None,
        mounts: Mapping[str, PathLike] | None = None,
        frames: Mapping[str, FrameLike] | None = None,
        policy: PolicyLike | None = None,
        tools: Iterable[ToolLike] = (),
        on_error: OnError | None = None,
        timeout: float | None = None,
    ) -> AsyncRunStream:
        """Runs code and gives its output as it comes: `async for chunk in box.stream(code)`.

        Frames among the inputs are written by a thread. What is wrong with them is an error of the first
        `async with` or `async for`.
        """
        raises = self._raises(on_error)
        asked = (code, inputs, policy, tools, timeout, True, files, mounts, frames)
        if inputs and has_frames(inputs):
            pipe, run = self._engine(None), AsyncRun(None)
            return AsyncRunStream(pipe, run, raises, pipe.loop.create_task(self._write(run, asked)))
        run = AsyncRun(self._settings.request(*asked))
        return AsyncRunStream(self._submitted(run), run, raises)

    def session(
        self,
        *,
        inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, FileLike] | None = None,
        mounts: Mapping[str, PathLike] | None = None,
        frames: Mapping[str, FrameLike] | None = None,
        policy: PolicyLike | None = None,
        on_error: OnError | None = None,
    ) -> AsyncSession:
        """A session, which is opened when it is entered or awaited. See `Sandbox.session`."""

        def opening(number: int) -> Request:
            return self._settings.opening(number, policy, inputs, files, mounts, frames)

        return AsyncSession(self._settings, self._raises(on_error), self._submitted, opening)

    async def submit(
        self,
        code: str,
        inputs: Mapping[str, Any] | None = None,
        *,
        files: Mapping[str, FileLike] | None = None,
        frames: Mapping[str, FrameLike] | None = None,
        policy: PolicyLike | None = None,
        on_error: OnError | None = None,
        timeout: float | None = None,
        key: str | None = None,
        webhook: str | None = None,
    ) -> AsyncJob:
        """Has a server accept code as a durable job, and returns before it runs. See `Sandbox.submit`."""
        raises = self._raises(on_error)
        asked = (code, inputs, files, frames, policy, timeout, webhook, key)
        # Frames may be written, which takes long.
        submission = await asyncio.to_thread(Submission, self._settings, *asked)
        try:
            answer = await self._ask_of_job("POST", "/v1/jobs", submission.body, submission.headers)
        except EngineError:
            # Its key makes it one job, whether it was heard of or not.
            answer = await self._ask_of_job("POST", "/v1/jobs", submission.body, submission.headers)
        return AsyncJob(told(*answer)["id"], raises, self._ask_of_job)

    def job(self, id: str, *, on_error: OnError | None = None) -> AsyncJob:
        """A durable job that was submitted before, by its id. Nothing is asked yet."""
        if self._settings.address is None:
            raise without_server()
        return AsyncJob(checked_id(id), self._raises(on_error), self._ask_of_job)

    async def check(self, code: str, *, policy: PolicyLike | None = None) -> list[Violation]:
        """What the language profile does not allow in the code. See `Sandbox.check`."""
        return await asyncio.to_thread(self._violations, code, policy)

    async def start(
        self, *, on_preload: Callable[[Preloaded], object] | None = None
    ) -> AsyncSandbox:
        """Starts the engine, if it is not running, and waits until it accepts runs.

        Where modules are preloaded, it waits until they are; one that cannot be imported is an error.
        `on_preload` hears of each module when it is done; if it returns something that can be awaited,
        that is done. On a terminal, a line tells the same.
        """
        while True:
            pipe, run = self._engine(None), AsyncRun(None)
            if not pipe.greet(run):
                self._engine(pipe)
                continue
            try:
                said = await pipe.wait(run)
            finally:
                run.finish()
            if isinstance(said, BaseException):
                raise said
            break
        if self._settings.preload:
            # No code: it waits for the modules, and leaves no record.
            request = self._settings.request("", None, None, (), None, False)
            run = AsyncRun(request)
            run.on_preload = on_preload
            pipe = self._submitted(run)
            try:
                await next_of(pipe, run)
            finally:
                run.finish()
        return self

    async def close(self) -> None:
        """Ends the engine, and whatever still runs. The box cannot be used any more."""
        self._closed = True
        pipe = self._without_engine()
        if pipe is not None:
            pipe.close()

    async def __aenter__(self) -> AsyncSandbox:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _write(self, run: AsyncRun, asked: tuple[Any, ...]) -> AsyncLink:
        """Has a thread write the frames of a run, and submits it."""
        run.request = await asyncio.to_thread(self._settings.request, *asked)
        return self._submitted(run)

    async def _ask_of_job(
        self, method: str, path: str, body: bytes | None = None, more: str = ""
    ) -> tuple[int, bytes]:
        pipe = self._engine(None)
        assert isinstance(pipe, AsyncRemote)
        return await pipe.ask(method, path, body, more, MOST_BODY)

    def _submitted(self, run: AsyncRun) -> AsyncLink:
        pipe = self._engine(None)
        while not pipe.submit(run):
            pipe = self._engine(pipe)
        return pipe

    def _engine(self, dead: AsyncLink | None) -> AsyncLink:
        """The engine that runs; a new one if there is none but `dead`."""
        if self._closed:
            raise closed_box()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RequestError(
                "no event loop is running", hint="use carboy.Sandbox, or await this in a task"
            ) from None
        pipe = self._pipe
        if pipe is not None and pipe.loop is not loop:
            if not pipe.loop.is_closed():
                raise RequestError(
                    "this sandbox belongs to another event loop", hint="make one for each loop"
                )
            pipe.close()
            pipe = None
        if pipe is None or pipe is dead:
            if dead is not None:
                dead.retire()
            if self._end is not None:
                self._end.detach()
            address = self._settings.address
            if address is None:
                pipe = AsyncPipe(self._settings, loop)
            else:
                pipe = AsyncRemote(self._settings, address, loop)
            self._pipe = pipe
            self._end = weakref.finalize(self, pipe.abandon)
        return pipe
