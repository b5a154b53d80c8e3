"""One call of a tool, from the arguments that came out of a jar to the answer that goes in."""

from __future__ import annotations

import asyncio
from typing import Any

from ._answers import failure_answer, fault_answer, value_answer
from ._link import Link
from ._run import Run
from ._tools import Tool


class Call:
    """A call that waits for its answer."""

    __slots__ = ("_args", "_call", "_kwargs", "_name", "_pipe", "_run", "tool")

    def __init__(self, pipe: Link, run: Run, body: dict[str, Any]) -> None:
        self._pipe = pipe
        self._run = run
        self._call: int = body["call"]
        self._name: str = body["tool"]
        self._args: list[Any] = body["args"]
        self._kwargs: dict[str, Any] = body["kwargs"]
        tools = run.request.tools if run.request is not None else {}
        self.tool: Tool | None = tools.get(self._name)

    @property
    def is_async(self) -> bool:
        """Whether it has to be awaited."""
        return self.tool is not None and self.tool.is_async

    @property
    def ended(self) -> bool:
        """Whether the answer is no longer waited for."""
        return self._run.ended

    def made(self) -> bytes:
        """Calls a plain function and returns the answer as a line. Lets other than `Exception` pass."""
        number, call, name = self._run.id, self._call, self._name
        if self.tool is None:
            return fault_answer(number, call, "arguments", f"there is no tool {name!r}")
        try:
            bound = self.tool.parameters.bind(self._args, self._kwargs)
            value = self.tool.function(*bound.args, **bound.kwargs)
        except Exception as error:
            return failure_answer(number, call, name, error)
        return value_answer(number, call, name, value)

    async def awaited(self) -> None:
        """Calls a coroutine function and sends the answer. Raises only if it was cancelled."""
        assert self.tool is not None
        number, call, name = self._run.id, self._call, self._name
        try:
            bound = self.tool.parameters.bind(self._args, self._kwargs)
            value = await self.tool.function(*bound.args, **bound.kwargs)
            answer = value_answer(number, call, name, value)
        except asyncio.CancelledError as error:
            if self._run.ended:
                raise
            answer = failure_answer(number, call, name, error)
        except Exception as error:
            answer = failure_answer(number, call, name, error)
        except BaseException as error:
            # It is meant to end the program, so it is raised where the run is waited for.
            self._pipe.deliver(self._run, error)
            return
        self._pipe.answer(self._run, answer)

    def answer(self, line: bytes) -> None:
        """Sends the answer."""
        self._pipe.answer(self._run, line)

    def fail(self, error: BaseException) -> None:
        """Raises this in the caller that waits for the run."""
        self._pipe.deliver(self._run, error)
