"""The output of a run as it comes, for programs without an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType

from ._box import Stream, session_outcome
from ._link import SyncLink, SyncRun
from ._outcome import SessionOutcome
from ._record import Chunk
from ._sync_listen import next_of


class RunStream(Stream[SyncLink, SyncRun]):
    """The output of a run, chunk by chunk; its `outcome` when that has ended.

    The code's tool calls are served while somebody iterates. Leaving it early, as a context manager
    or with `close()`, cancels the run.
    """

    def __iter__(self) -> Iterator[Chunk]:
        return self

    def __next__(self) -> Chunk:
        if self._run.ended:
            raise StopIteration
        try:
            found = next_of(self._pipe, self._run)
        except BaseException:
            self.close()
            raise
        chunk = self._chunk(found)
        if chunk is None:
            raise StopIteration
        return chunk

    def __enter__(self) -> RunStream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # The garbage collector may call this at any moment, also while this thread holds the lock.
        if not self._run.ended and self._pipe.lock.acquire(blocking=False):
            try:
                self._pipe.finish_locked(self._run)
            finally:
                self._pipe.lock.release()


class SessionStream(RunStream):
    """The output of a run in a session, chunk by chunk; its `outcome` when that has ended.

    Leaving it early, as a context manager or with `close()`, interrupts the run: the state is what it was
    before it.
    """

    def __init__(self, pipe: SyncLink, run: SyncRun, raises: bool, under_way: set[SyncRun]) -> None:
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

    def __enter__(self) -> SessionStream:
        return self

    def __del__(self) -> None:
        self._under_way.discard(self._run)
        super().__del__()
