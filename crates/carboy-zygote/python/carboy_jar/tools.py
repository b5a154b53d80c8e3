"""The caller's tools, as code in a jar finds them: functions by name, and a module `tools`.

A call goes out as a frame and its answer comes back as one. Nobody waits for answers in the
background: whoever needs one reads what comes, hands the others theirs, and passes the reading on.
Code that awaits lets its event loop do it.
"""

from __future__ import annotations

import _thread
import collections
import os
import sys
import types

from .frames import JOB, write_frame
from .values import DECODE, ENCODER, clean

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Answer = dict[str, Any]
    Arguments = tuple[tuple[Any, ...], dict[str, Any]]

# How many calls may wait for an answer, and how many bytes of arguments with them. The engine takes no
# more either, and hears nothing else until some are answered.
IN_FLIGHT = 63
IN_FLIGHT_BYTES = 4 << 20


class ToolError(Exception):
    """A tool of the caller's did not answer with a value."""


class Calls:
    """The calls of one job, and whoever waits for their answers."""

    def __init__(self) -> None:
        self.made = 0
        self.in_flight = 0
        self.bytes = 0
        self.unsent: collections.deque[tuple[int, bytes]] = collections.deque()
        # What each call does with its answer.
        self.waiting: dict[int, Callable[[Answer], None]] = {}
        self.sizes: dict[int, int] = {}
        self.held = bytearray()
        self.counting = _thread.allocate_lock()
        self.reading = _thread.allocate_lock()
        # What wakes the threads that wait while another one reads.
        self.sleeping: dict[object, _thread.LockType] = {}
        self.loops: dict[Any, int] = {}

    def renew(self) -> None:
        """Another run begins. Nobody answers the calls of the one before it any more."""
        with self.counting:
            self.in_flight = self.bytes = 0
            for kept in (self.unsent, self.waiting, self.sizes):
                kept.clear()

    def begin(self, tool: str, arguments: Arguments, answered: Callable[[Answer], None]) -> int:
        """Makes a call, now or when others are answered."""
        args, kwargs = arguments
        try:
            text = ENCODER.encode({"tool": tool, "args": args, "kwargs": kwargs})
            text.encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(f"{tool}: an argument is not JSON: {clean(error, 200)}") from None
        with self.counting:
            self.made += 1
            call = self.made
            self.waiting[call] = answered
            self.unsent.append((call, f'{{"call":{{"call":{call},{text[1:]}}}'.encode()))
        self.send()
        return call

    def send(self) -> None:
        """Sends the calls whose turn it is."""
        while True:
            with self.counting:
                if not self.unsent or self.in_flight >= IN_FLIGHT:
                    return
                call, body = self.unsent[0]
                if self.in_flight and self.bytes + len(body) >= IN_FLIGHT_BYTES:
                    return
                self.unsent.popleft()
                self.in_flight += 1
                self.bytes += len(body)
                self.sizes[call] = len(body)
            write_frame(body)

    def read(self) -> None:
        """Waits for answers, and hands them out."""
        while not self.hand_out():
            piece = os.read(JOB, 1 << 16)
            if not piece:
                os._exit(0)
            self.held += piece

    def hand_out(self) -> bool:
        """Hands out the answers that have come whole. Whether there were any."""
        some = False
        while len(self.held) >= 4:
            end = 4 + int.from_bytes(self.held[:4], "big")
            if len(self.held) < end:
                break
            answer = DECODE(self.held[4:end].decode(), 0)[0]["answer"]
            del self.held[:end]
            some = True
            with self.counting:
                self.in_flight -= 1
                self.bytes -= self.sizes.pop(answer["call"])
                answered = self.waiting.pop(answer["call"])
            answered(answer)
            self.send()
        return some

    def wait(self, answers: list[Answer], woken: _thread.LockType) -> None:
        """Waits until there is something in `answers`: reads, or sleeps while another reads."""
        key = object()
        self.sleeping[key] = woken
        try:
            while not answers:
                if self.reading.acquire(False):
                    try:
                        while not answers:
                            self.read()
                    finally:
                        self.reading.release()
                else:
                    woken.acquire()
        finally:
            del self.sleeping[key]
            self.wake_all()

    def call(self, tool: str, arguments: Arguments) -> Any:
        """Calls a tool and waits for its value."""
        answers: list[Answer] = []
        woken = _thread.allocate_lock()
        woken.acquire()

        def answered(answer: Answer) -> None:
            answers.append(answer)
            wake(woken)

        self.begin(tool, arguments, answered)
        self.wait(answers, woken)
        return value_of(answers[0])

    async def call_async(self, tool: str, arguments: Arguments) -> Any:
        """Calls a tool and awaits its value, which the running event loop reads."""
        loop = sys.modules["asyncio"].get_running_loop()
        future = loop.create_future()

        def answered(answer: Answer) -> None:
            try:
                loop.call_soon_threadsafe(lambda: future.done() or future.set_result(answer))
            except RuntimeError:
                # The loop is closed: nobody waits any more.
                pass

        self.loops[loop] = self.loops.get(loop, 0) + 1
        if self.loops[loop] == 1:
            loop.add_reader(JOB, self.readable)
        try:
            self.begin(tool, arguments, answered)
            return value_of(await future)
        finally:
            self.loops[loop] -= 1
            if not self.loops[loop]:
                del self.loops[loop]
                loop.remove_reader(JOB)

    def readable(self) -> None:
        """An event loop saw answers come. If a thread reads already, it will have them."""
        if self.reading.acquire(False):
            try:
                select = sys.modules["select"]
                if select.select([JOB], [], [], 0)[0]:
                    self.read()
            finally:
                self.reading.release()
                self.wake_all()

    def wake_all(self) -> None:
        """Nobody reads any more. One of those who sleep will."""
        for lock in list(self.sleeping.values()):
            wake(lock)


def wake(lock: _thread.LockType) -> None:
    """Wakes whoever waits for a lock, if anybody does."""
    try:
        lock.release()
    except RuntimeError:
        # It is awake.
        pass


def value_of(answer: Answer) -> Any:
    """What a tool returned, or raises why it returned nothing."""
    error = answer.get("error")
    if error is None:
        return answer.get("result")
    raise (TypeError if error["kind"] == "arguments" else ToolError)(error["message"])


def tool_function(calls: Calls, tool: dict[str, Any]) -> Callable[..., Any]:
    """The function that code calls for a tool."""
    name = tool["name"]
    function: Callable[..., Any]

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await calls.call_async(name, (args, kwargs))

    def called(*args: Any, **kwargs: Any) -> Any:
        return calls.call(name, (args, kwargs))

    function = awaited if tool["async"] else called
    function.__name__ = function.__qualname__ = name
    function.__module__ = "tools"
    function.__doc__ = tool.get("doc")
    return function


def offer(tools: list[dict[str, Any]], space: dict[str, Any], calls: Calls | None = None) -> None:
    """Puts the tools where the code finds them."""
    calls = calls or Calls()
    functions = {tool["name"]: tool_function(calls, tool) for tool in tools}
    module = types.ModuleType("tools", "What the caller of this code offers it.")
    module.__dict__.update(functions, ToolError=ToolError, __all__=[*functions, "ToolError"])
    ToolError.__module__ = "tools"
    sys.modules["tools"] = module
    space.update(functions)
