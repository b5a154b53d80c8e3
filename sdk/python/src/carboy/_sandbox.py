"""The box for programs without an event loop."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from ._box import Box, closed_box
from ._check import Violation
from ._data_frames import FrameLike
from ._errors import EngineError
from ._files import FileLike, PathLike
from ._jobs import Submission, checked_id, told, without_server
from ._link import SyncLink, SyncRun
from ._outcome import Outcome
from ._policy import PolicyLike
from ._record import Chunk, Preloaded
from ._request import OnError
from ._session import Session
from ._sync_jobs import Job
from ._sync_listen import next_of
from ._sync_pipe import SyncPipe
from ._sync_remote import SyncRemote
from ._sync_stream import RunStream
from ._tools import ToolLike


class Sandbox(Box[SyncLink]):
    """An engine of its own, and the runs in it: `Sandbox("medium")`. Threads may share one.

    `python` is the interpreter that code runs on; without it, the one that runs this, so that code
    sees the packages that the caller sees. `preload` names modules to import once, before code
    comes. `tools` are functions that the code may call. `policy` is a preset's name, a `Policy` or
    a mapping. With `on_error="raise"` an outcome that is not ok is raised as a `RunError`.
    `untested_python` takes an interpreter that is newer than those carboy is tested with.
    `artifacts` says what becomes of files that code leaves: `"keep"` has their content in
    `outcome.artifacts`, `"list"` only their names and sizes, `"none"` nothing.

    With a `store`, a directory, every run leaves a record there before it is answered, and `runs`
    reads them; `record_inputs` keeps inputs too, of which otherwise only digests are kept, and
    `record_artifacts` the files that code leaves.

    `memory_budget` is what all runs of the box together may come to use, in bytes or as text such as
    `"512M"`; a run that does not fit beside the others waits. Without it, that is what the container or
    the machine has left.

    The engine starts with the first run, and again if it died.

    With `url` the engine is that of a server, `Sandbox(url="http://127.0.0.1:8722", key="carboy_...")`, which
    `carboy serve` prints; `unix:PATH` is a socket. The key may also be in `CARBOY_KEY`. Interpreter,
    modules, memory and records are the server's then, files are sent, and no run gets more than the
    server allows this key.
    """

    def run(
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
        """Runs code in a fresh jar and returns what came of it.

        The code sees each of the `inputs` under its name, and the box's tools and these. It can read
        each of the `files`, paths or bytes, by its name, and the directories of the `mounts` at their
        places (docs/files.md of the repository); nothing is copied, and nothing can be changed.

        An input may be a frame of pandas, polars or pyarrow or an array of numpy: the code sees one of the
        same type. Each of the `frames` is a CSV, JSONL, Parquet or Arrow file that the code sees as a
        frame, of the library that it imports, and that is only read if the code names it. `timeout`
        in seconds lowers the policy's time on the clock for this run, and never raises it.
        `on_output` gets what the code prints, as it comes.
        """
        raises = self._raises(on_error)
        settings = self._settings
        request = settings.request(
            code, inputs, policy, tools, timeout, on_output is not None, files, mounts, frames
        )
        run = SyncRun(request)
        try:
            pipe = self._submitted(run)
            while True:
                found = next_of(pipe, run)
                if type(found) is Outcome:
                    break
                if on_output is not None and type(found) is Chunk:
                    on_output(found)
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
    ) -> RunStream:
        """Runs code and gives its output as it comes. See `RunStream`."""
        raises = self._raises(on_error)
        request = self._settings.request(
            code, inputs, policy, tools, timeout, True, files, mounts, frames
        )
        run = SyncRun(request)
        return RunStream(self._submitted(run), run, raises)

    def session(
        self,
        *,
        inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, FileLike] | None = None,
        mounts: Mapping[str, PathLike] | None = None,
        frames: Mapping[str, FrameLike] | None = None,
        policy: PolicyLike | None = None,
        on_error: OnError | None = None,
    ) -> Session:
        """Opens a session: code that is run piece by piece and keeps its state. See `Session`.

        Its runs are offered the tools of the box, and find what it is opened with, as in `run`: a frame
        is made when code first names it.
        """
        session = Session(self._settings, self._raises(on_error))
        opening = self._settings.opening(session._number, policy, inputs, files, mounts, frames)
        session._open(self._submitted, opening)
        return session

    def submit(
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
    ) -> Job:
        """Has a server accept code as a durable job, and returns before it runs. See `Job`.

        It is run when there is a place, also if this process is gone, and its end is kept for a day. It may
        run more than once if whoever runs it dies; one result is kept. It has no tools, and files of at
        most 1 MiB. The same `key` and request are one job for a day. `webhook` is an address that is told of
        the end, if the server has that set up.
        """
        raises = self._raises(on_error)
        asked = (code, inputs, files, frames, policy, timeout, webhook, key)
        submission = Submission(self._settings, *asked)
        try:
            answer = self._ask_of_job("POST", "/v1/jobs", submission.body, submission.headers)
        except EngineError:
            # Its key makes it one job, whether it was heard of or not.
            answer = self._ask_of_job("POST", "/v1/jobs", submission.body, submission.headers)
        return Job(told(*answer)["id"], raises, self._ask_of_job)

    def job(self, id: str, *, on_error: OnError | None = None) -> Job:
        """A durable job that was submitted before, by its id. Nothing is asked yet."""
        if self._settings.address is None:
            raise without_server()
        return Job(checked_id(id), self._raises(on_error), self._ask_of_job)

    def check(self, code: str, *, policy: PolicyLike | None = None) -> list[Violation]:
        """What the language profile of the policy does not allow in the code, without running it.

        Without a language profile that is nothing.
        """
        return self._violations(code, policy)

    def start(self, *, on_preload: Callable[[Preloaded], object] | None = None) -> Sandbox:
        """Starts the engine, if it is not running, and waits until it accepts runs.

        Where modules are preloaded, it waits until they are; one that cannot be imported is an error.
        `on_preload` hears of each module when it is done. On a terminal, a line tells the same.
        """
        while True:
            pipe, run = self._engine(None), SyncRun(None)
            if not pipe.greet(run):
                self._engine(pipe)
                continue
            try:
                said = pipe.wait(run)
            finally:
                run.finish()
            if isinstance(said, BaseException):
                raise said
            break
        if self._settings.preload:
            # No code: it waits for the modules, and leaves no record.
            request = self._settings.request("", None, None, (), None, False)
            run = SyncRun(request)
            run.on_preload = on_preload
            pipe = self._submitted(run)
            try:
                next_of(pipe, run)
            finally:
                run.finish()
        return self

    def close(self) -> None:
        """Ends the engine, and whatever still runs. The box cannot be used any more."""
        self._closed = True
        with self._starting:
            pipe = self._without_engine()
        if pipe is not None:
            pipe.close()

    def __enter__(self) -> Sandbox:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _ask_of_job(
        self, method: str, path: str, body: bytes | None = None, more: str = ""
    ) -> tuple[int, bytes]:
        pipe = self._pipe or self._engine(None)
        assert isinstance(pipe, SyncRemote)
        return pipe.ask_of_job(method, path, body, more)

    def _submitted(self, run: SyncRun) -> SyncLink:
        pipe = self._pipe or self._engine(None)
        while not pipe.submit(run):
            pipe = self._engine(pipe)
        return pipe

    def _engine(self, dead: SyncLink | None) -> SyncLink:
        """The engine that runs; a new one if there is none but `dead`."""
        with self._starting:
            if self._closed:
                raise closed_box()
            if self._pipe is None or self._pipe is dead:
                if dead is not None:
                    dead.retire()
                if self._end is not None:
                    self._end.detach()
                address = self._settings.address
                if address is None:
                    self._pipe = SyncPipe(self._settings)
                else:
                    self._pipe = SyncRemote(self._settings, address)
                self._end = weakref.finalize(self, self._pipe.close)
            return self._pipe
