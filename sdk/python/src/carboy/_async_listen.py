"""Hears what the engine says about a run that a task waits for, and serves its tool calls."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from ._box import heard
from ._calls import Call
from ._link import AsyncLink, AsyncRun
from ._messages import session_answer
from ._outcome import Outcome
from ._record import Chunk, Preloaded
from ._tool_threads import function_thread


async def next_of(pipe: AsyncLink, run: AsyncRun) -> Chunk | Outcome:
    """The next output or the outcome of a run. Tool calls are served meanwhile."""
    while True:
        said = await pipe.wait(run)
        found = heard(said, pipe.place)
        if isinstance(found, (Chunk, Outcome)):
            return found
        if isinstance(found, Preloaded):
            done = run.on_preload(found) if run.on_preload is not None else None
            if inspect.isawaitable(done):
                await done
            continue
        if found is not None:
            _serve(pipe, run, Call(pipe, run, found))


def _serve(pipe: AsyncLink, run: AsyncRun, call: Call) -> None:
    if not call.is_async:
        context = copy_context()
        function_thread().submit(lambda: _call_here(pipe.loop, context, call))
        return
    if run.tasks is None:
        run.tasks = set()
    task = pipe.loop.create_task(call.awaited())
    run.tasks.add(task)
    task.add_done_callback(run.tasks.discard)


def _call_here(loop: asyncio.AbstractEventLoop, context: Context, call: Call) -> None:
    """In the thread for plain functions: calls one and lets the loop send the answer."""
    if call.ended:
        return
    try:
        then = partial(call.answer, context.run(call.made))
    except BaseException as error:
        then = partial(call.fail, error)
    # If the loop is closed, the answer is no longer waited for.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(then)


async def answer_of(pipe: AsyncLink, run: AsyncRun) -> dict[str, Any]:
    """What came of a request about a session."""
    while True:
        answer = session_answer(await pipe.wait(run))
        if answer is not None:
            return answer
