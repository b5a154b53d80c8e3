"""The two threads for tools, each started when it is first needed.

A plain function would hold up an event loop, so there is one thread for those that a box of a loop
offers. A coroutine needs a loop, so there is one thread with a loop for those that a box without
one offers. Everything else runs where the caller is.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from contextvars import Context
from queue import SimpleQueue
from typing import Any


class FunctionThread:
    """One thread that calls functions in the order in which they were given."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Callable[[], None]] = SimpleQueue()
        threading.Thread(target=self._work, name="carboy-tools", daemon=True).start()

    def submit(self, function: Callable[[], None]) -> None:
        """Calls it when its turn comes. It must not raise."""
        self._queue.put(function)

    def _work(self) -> None:
        while True:
            self._queue.get()()


class LoopThread:
    """One thread with an event loop, for coroutines."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._work, name="carboy-tool-loop", daemon=True).start()

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def submit(self, work: Callable[[], Coroutine[Any, Any, None]], context: Context) -> LoopTask:
        """Begins a coroutine, in this context. It must not raise."""
        task = LoopTask(self._loop)
        self._loop.call_soon_threadsafe(task.begin, work, context)
        return task


class LoopTask:
    """A coroutine in the other thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._task: asyncio.Task[None] | None = None
        self._cancelled = False
        self._done = False

    def begin(self, work: Callable[[], Coroutine[Any, Any, None]], context: Context) -> None:
        """In the loop: starts it, unless it was cancelled before."""
        if not self._cancelled:
            self._task = context.run(self._loop.create_task, work())
            self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        """From anywhere: ends it."""
        if not self._done:
            self._loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self._cancelled = True
        if self._task is not None:
            self._task.cancel()

    def _end(self, task: asyncio.Task[None]) -> None:
        self._done = True


_starting = threading.Lock()
_functions: FunctionThread | None = None
_loop: LoopThread | None = None


def function_thread() -> FunctionThread:
    """The thread for plain functions."""
    global _functions
    with _starting:
        if _functions is None:
            _functions = FunctionThread()
        return _functions


def loop_thread() -> LoopThread:
    """The thread for coroutines."""
    global _loop
    with _starting:
        if _loop is None:
            _loop = LoopThread()
        return _loop


def _after_fork() -> None:
    """A forked child has none of its parent's threads."""
    global _starting, _functions, _loop
    _starting = threading.Lock()
    _functions = _loop = None


os.register_at_fork(after_in_child=_after_fork)
