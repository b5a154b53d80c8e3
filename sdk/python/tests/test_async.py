"""Runs as tasks of an event loop."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import pytest

import carboy
from programs import alive

T = TypeVar("T")


def with_box(test: Callable[[carboy.AsyncSandbox], Awaitable[T]], **options: Any) -> T:
    async def main() -> T:
        async with carboy.AsyncSandbox(**options) as box:
            return await asyncio.wait_for(test(box), 30)

    return asyncio.run(main())


def test_runs_go_on_at_once() -> None:
    async def test(box: carboy.AsyncSandbox) -> None:
        outs = await asyncio.gather(*[box.run(f"result = {number}") for number in range(200)])
        assert [out.result for out in outs] == list(range(200))
        began = time.monotonic()
        outs = await asyncio.gather(*[box.run("import time; time.sleep(0.3)") for _ in range(10)])
        # One after the other they would have taken as long as all of them together.
        assert time.monotonic() - began < sum(out.usage.wall_ms for out in outs) / 1000

    with_box(test)


def test_output_is_streamed_and_callbacks_may_be_awaited() -> None:
    async def test(box: carboy.AsyncSandbox) -> None:
        seen = []
        async with box.stream("print(1)\nprint(2)\nresult = 3") as stream:
            async for chunk in stream:
                seen.append(chunk.text)
            assert ("".join(seen), stream.outcome.result) == ("1\n2\n", 3)

        async def keep(chunk: carboy.Chunk) -> None:
            await asyncio.sleep(0)
            seen.append(chunk.text)

        await box.run("print(4)", on_output=keep)
        await box.run("print(5)", on_output=lambda chunk: seen.append(chunk.text))
        assert seen[-2:] == ["4\n", "5\n"]
        with pytest.raises(carboy.GuestExceptionError):
            await box.run("1/0", on_error="raise")

    with_box(test)


async def until_idle(box: carboy.AsyncSandbox) -> None:
    pipe = box._pipe
    assert pipe is not None
    while pipe._runs:
        await asyncio.sleep(0.005)


def test_a_start_tells_of_each_module_that_is_preloaded() -> None:
    async def test() -> None:
        told: list[str] = []

        async def hear(one: carboy.Preloaded) -> None:
            await asyncio.sleep(0)
            told.append(one.module)

        box = carboy.AsyncSandbox(preload=["fractions", "json"])
        try:
            await box.start(on_preload=hear)
        finally:
            await box.close()
        assert told == ["fractions", "json"]

    asyncio.run(test())


def test_cancelling_the_task_cancels_the_run() -> None:
    async def test(box: carboy.AsyncSandbox) -> None:
        began = time.monotonic()
        tasks = [asyncio.create_task(box.run("import time; time.sleep(20)")) for _ in range(30)]
        await asyncio.sleep(0.2)
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(end) for end in ends} == {asyncio.CancelledError}
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(box.run("import time; time.sleep(20)"), 0.05)
        async with box.stream("import time\nprint(1, flush=True)\ntime.sleep(20)") as stream:
            await stream.__anext__()
        # The engine has ended them all, and takes more.
        await until_idle(box)
        assert (await box.run("7")).result == 7
        assert time.monotonic() - began < 10

    with_box(test)


def test_a_box_belongs_to_one_loop() -> None:
    box = carboy.AsyncSandbox()

    async def run() -> object:
        return (await box.run("1")).result

    def elsewhere(work: Coroutine[Any, Any, object]) -> object:
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(work)
        finally:
            loop.close()

    async def other() -> None:
        await run()
        with pytest.raises(carboy.RequestError, match="another event loop"):
            await asyncio.to_thread(elsewhere, run())
        with pytest.raises(carboy.RequestError, match="no event loop"):
            await asyncio.to_thread(lambda: box.stream("1"))

    asyncio.run(other())
    # That loop is closed, so the box may have another.
    assert asyncio.run(run()) == 1

    async def close() -> None:
        await box.close()
        with pytest.raises(carboy.RequestError, match="closed"):
            await box.run("1")

    asyncio.run(close())


def test_closing_ends_what_runs() -> None:
    async def main() -> None:
        box = await carboy.AsyncSandbox().start()
        assert box._pipe is not None
        pid = box._pipe.process.pid
        task = asyncio.create_task(box.run("import time; time.sleep(20)"))
        await asyncio.sleep(0.1)
        await box.close()
        with pytest.raises(carboy.EngineGoneError, match="closed"):
            await task
        assert not alive(pid)

    asyncio.run(main())


def test_a_box_that_is_forgotten_ends_its_engine() -> None:
    async def main() -> int:
        box = await carboy.AsyncSandbox().start()
        assert box._pipe is not None
        pid = box._pipe.process.pid
        assert (await box.run("1")).ok
        del box
        gc.collect()
        return pid

    assert not alive(asyncio.run(main()))


def test_a_large_input_does_not_hold_up_others() -> None:
    async def test(box: carboy.AsyncSandbox) -> None:
        text = "x" * 5_000_000
        runs = [box.run("result = len(x)", {"x": text}) for _ in range(4)]
        outs = await asyncio.gather(*runs, *[box.run("result = 1") for _ in range(20)])
        assert [out.result for out in outs] == [len(text)] * 4 + [1] * 20

    with_box(test)
