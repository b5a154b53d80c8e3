"""Sessions for programs without an event loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any

from ._errors import CarboyError
from ._link import SyncLink, SyncRun
from ._outcome import SessionOutcome
from ._record import Chunk
from ._request import OnError, Request, asking, is_raise, named
from ._session_base import SessionBase, Variables
from ._sync_listen import answer_of, next_of
from ._sync_stream import SessionStream
from ._tools import ToolLike


class Session(SessionBase[SyncLink, SyncRun]):
    """Code that is run piece by piece and keeps its state: `with box.session() as s`.

    A run that crashes, takes too long, needs too much memory or is interrupted leaves the state as it was
    before it; one that raises keeps what it reached. One run is under way at a time; others wait. A branch
    goes on from the same state beside it. Closing a session ends its branches too. docs/sessions.md of
    the repository has the whole story.
    """

    def run(
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
        """Runs code; what it defines is there for the next.

        `result` is what this code assigned to `result`, or the value of its last expression. Inputs stay as
        variables; tools are there until it ends. `timeout` in seconds lowers the policy's time on the
        clock for this run. With `rollback`, an exception too leaves the state as it was before.
        """
        raises = self._raises if on_error is None else is_raise(on_error)
        request = self._settings.piece(
            self._number, code, inputs, tools, timeout, on_output is not None, rollback
        )
        run = SyncRun(request)
        self._under_way.add(run)
        try:
            pipe = self._sent(run)
            while True:
                found = next_of(pipe, run)
                if isinstance(found, SessionOutcome):
                    break
                if on_output is not None and isinstance(found, Chunk):
                    on_output(found)
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
    ) -> SessionStream:
        """Runs code and gives its output as it comes: `for chunk in s.stream(code)`.

        Leaving the stream early interrupts the run; the state is what it was before it.
        """
        raises = self._raises if on_error is None else is_raise(on_error)
        run = SyncRun(
            self._settings.piece(self._number, code, inputs, tools, timeout, True, rollback)
        )
        stream = SessionStream(self._sent(run), run, raises, self._under_way)
        self._under_way.add(run)
        return stream

    def variables(self) -> Variables:
        """What the code has defined: names, types, and sizes where they are known."""
        return Variables((self._ask(b'{"variables":{}}'))["variables"])

    def branch(self) -> Session:
        """Another session that goes on from the same state, beside this one. Files are shared.

        It is refused while code has threads beside the main one: the copy would lack them.
        """
        branch = Session(self._settings, self._raises)
        branch._pipe = self._pipe
        try:
            self._ask(b'{"branch":{"session":%d}}' % branch._number)
        except BaseException:
            branch._abandon()
            raise
        return branch

    def checkpoint(self, name: str) -> None:
        """Keeps the state as it is now under a name. One of that name is replaced."""
        self._ask(named("checkpoint", name))

    def rollback(self, name: str) -> None:
        """Goes back to the state that was kept under this name, which stays. Files do not go back."""
        self._ask(named("rollback", name))

    def checkpoints(self) -> list[str]:
        """The names of what is kept."""
        names: list[str] = (self._ask(b'{"checkpoints":{}}'))["checkpoints"]["names"]
        return names

    def drop(self, name: str) -> None:
        """Forgets what is kept under this name."""
        self._ask(named("drop", name))

    def close(self) -> None:
        """Ends the session and its branches; of a branch, only that. What runs in it is interrupted."""
        pipe = self._left()
        if pipe is None:
            return
        self.interrupt()
        run = SyncRun(asking(self._number, b'{"close":{}}'))
        try:
            if pipe.submit(run):
                answer_of(pipe, run)
        except CarboyError:
            # With its engine it has ended too.
            pass
        finally:
            run.finish()

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self._abandon()

    def _ask(self, ask: bytes) -> dict[str, Any]:
        run = SyncRun(asking(self._number, ask))
        try:
            return answer_of(self._sent(run), run)
        finally:
            run.finish()

    def _open(self, submitted: Callable[[SyncRun], SyncLink], opening: Request) -> None:
        run = SyncRun(opening)
        try:
            self._pipe = submitted(run)
            answer_of(self._pipe, run)
        except BaseException:
            self._abandon()
            raise
        finally:
            run.finish()

    def _abandon(self) -> None:
        """Ends it without waiting; also from the garbage collector, at any moment."""
        pipe = self._left()
        if pipe is not None:
            pipe.forget_session(self._number)
