"""Hears what the engine says about a run that a thread waits for, and serves its tool calls."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

from ._box import heard
from ._calls import Call
from ._link import SyncLink, SyncRun
from ._messages import session_answer
from ._outcome import Outcome
from ._record import Chunk, Preloaded
from ._tool_threads import loop_thread


def next_of(pipe: SyncLink, run: SyncRun) -> Chunk | Outcome:
    """The next output or the outcome of a run. Tool calls are served meanwhile."""
    while True:
        said = pipe.wait(run)
        found = heard(said, pipe.place)
        if isinstance(found, (Chunk, Outcome)):
            return found
        if isinstance(found, Preloaded):
            if run.on_preload is not None:
                run.on_preload(found)
            continue
        if found is not None:
            # The run may have ended while an earlier call was served. Then no answer is needed.
            pipe.look(run)
            if run.over:
                continue
            call = Call(pipe, run, found)
            if call.is_async:
                if run.tasks is None:
                    run.tasks = set()
                run.tasks.add(loop_thread().submit(call.awaited, copy_context()))
            else:
                call.answer(call.made())


def answer_of(pipe: SyncLink, run: SyncRun) -> dict[str, Any]:
    """What came of a request about a session."""
    while True:
        answer = session_answer(pipe.wait(run))
        if answer is not None:
            return answer
