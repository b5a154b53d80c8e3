"""Code in a jar calls functions of its caller."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import carboy
from programs import script
from test_async import with_box
from test_threads import in_threads

WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def search(query: str, most: int = 2) -> list[str]:
    "Search the product catalogue."
    return [query] * most


async def fetch(number: int) -> dict[str, Any]:
    await asyncio.sleep(0.05)
    return {"number": number, "who": WHO.get()}


def meeting(count: int) -> Callable[[int], Awaitable[dict[str, Any]]]:
    """A tool that answers only when so many calls of it are under way at once."""
    arrived: list[int] = []
    complete = asyncio.Event()

    async def fetch(number: int) -> dict[str, Any]:
        arrived.append(number)
        if len(arrived) == count:
            complete.set()
        await complete.wait()
        return {"number": number, "who": WHO.get()}

    return fetch


def test_code_calls_tools_by_name_and_from_the_module(box: carboy.Sandbox) -> None:
    code = "from tools import search as find\nresult = [search('a'), find('b', most=1)]"
    out = box.run(code, tools=[search])
    assert out.result == [["a", "a"], ["b"]]
    assert [(call.tool, call.status) for call in out.tool_calls] == [("search", "ok")] * 2
    described = box.run("result = search.__doc__", tools=[search]).result
    assert described == (
        "search(query: str, most: int = 2) -> list[str]\n\nSearch the product catalogue."
    )


def test_tools_of_the_box_and_of_the_run_add_up() -> None:
    with carboy.Sandbox(tools=[search]) as box:
        out = box.run(
            "result = [search('a', 1), twice(4)]", tools=[carboy.Tool(lambda n: n * 2, "twice")]
        )
        assert out.result == [["a"], 8]
        error = box.run("twice(1)").error
        assert error is not None and error.type == "NameError"


def test_wrong_arguments_and_failures_reach_the_code(box: carboy.Sandbox) -> None:
    def fail(how: str) -> None:
        raise carboy.ToolError("not today") if how == "told" else OSError("a secret")

    code = """
import tools
result = []
for call in (lambda: search(1), lambda: search(), lambda: fail("told"), lambda: fail("kept")):
    try:
        call()
    except (TypeError, tools.ToolError) as error:
        result.append([type(error).__name__, str(error)])
"""
    out = box.run(code, tools=[search, fail])
    assert out.result == [
        ["TypeError", "search: `query` must be str, not int"],
        ["TypeError", "search: missing a required argument: 'query'"],
        ["ToolError", "not today"],
        ["ToolError", "fail failed (OSError)"],
    ]
    assert {call.status for call in out.tool_calls} == {"error"}


def test_a_tool_runs_on_the_thread_and_in_the_context_of_its_caller(box: carboy.Sandbox) -> None:
    def where() -> list[Any]:
        return [threading.get_ident(), WHO.get()]

    def work(number: int) -> bool:
        WHO.set(str(number))
        out = box.run("result = where()", tools=[where])
        return bool(out.result == [threading.get_ident(), str(number)])

    assert in_threads(8, work) == [True] * 8


def test_coroutines_of_a_box_without_a_loop_run_at_once_and_in_context(
    box: carboy.Sandbox,
) -> None:
    before = threading.active_count()
    WHO.set("me")
    code = """
import asyncio
result = await asyncio.gather(*[fetch(n) for n in range(20)])
"""
    out = box.run(code, tools=[meeting(20)])
    assert out.result == [{"number": number, "who": "me"} for number in range(20)]
    # Who brought an answer to a server may not have heard that it came.
    until = time.monotonic() + 60
    while threading.active_count() > before + 1 and time.monotonic() < until:
        time.sleep(0.01)
    assert threading.active_count() <= before + 1


def test_a_tool_may_run_code_itself(box: carboy.Sandbox) -> None:
    def run(code: str) -> Any:
        return box.run(code).result

    assert box.run("result = run('6 * 7')", tools=[run]).result == 42


def test_a_tool_that_takes_long_holds_no_other_thread_up(box: carboy.Sandbox) -> None:
    free = threading.Event()

    def wait() -> bool:
        return free.wait(20)

    thread = threading.Thread(target=lambda: box.run("wait()", tools=[wait]))
    thread.start()
    try:
        assert in_threads(8, lambda n: box.run(f"{n}").result) == list(range(8))
    finally:
        free.set()
        thread.join()


def test_a_budget_keeps_a_calls_time_from_the_run(box: carboy.Sandbox) -> None:
    def slow() -> int:
        time.sleep(0.4)
        return 1

    error = box.run("result = slow()", tools=[slow], timeout=0.2).error
    assert error is not None and error.limit == carboy.LimitHit("wall_ms", 200)
    assert box.run("result = slow()", tools=[carboy.Tool(slow, budget=2)], timeout=0.2).result == 1


def test_a_limit_on_calls_holds(box: carboy.Sandbox) -> None:
    policy = carboy.Policy(limits=carboy.Limits(tool_calls=3))
    out = box.run("while True: search('a')", tools=[search], policy=policy)
    assert out.error is not None and out.error.limit == carboy.LimitHit("tool_calls", 3)
    assert len(out.tool_calls) == 3


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_tool_that_ends_the_program_ends_the_run(
    box: carboy.Sandbox, ending: type[BaseException], is_async: bool
) -> None:
    def leave() -> None:
        raise ending

    async def leave_async() -> None:
        raise ending

    tool = carboy.Tool(leave_async if is_async else leave, name="leave")
    began = time.monotonic()
    with pytest.raises(ending):
        box.run("await leave()" if is_async else "leave()", tools=[tool])
    assert box.run("3").result == 3 and time.monotonic() - began < 10


def test_tools_are_served_while_a_stream_is_read(box: carboy.Sandbox) -> None:
    code = "print(search('a'), flush=True)\nprint(await fetch(1))\nresult = 1"
    with box.stream(code, tools=[search, fetch]) as stream:
        text = "".join(chunk.text for chunk in stream)
        assert text.startswith("['a', 'a']\n{'number': 1,") and stream.outcome.result == 1


def test_tools_of_a_loop() -> None:
    threads: set[int] = set()

    def plain(number: int) -> int:
        threads.add(threading.get_ident())
        return number + 1

    async def test(box: carboy.AsyncSandbox) -> None:
        WHO.set("task")
        code = (
            "import asyncio\n"
            "result = [plain(1), *await asyncio.gather(*[fetch(n) for n in range(9)])]"
        )
        outs = await asyncio.gather(*[box.run(code) for _ in range(10)])
        for out in outs:
            assert out.result == [2, *({"number": n, "who": "task"} for n in range(9))]
        assert len(threads) == 1 and threading.get_ident() not in threads

    with_box(test, tools=[plain, fetch])


def test_plain_tools_of_a_loop_see_the_context_of_the_run() -> None:
    def who() -> str:
        return WHO.get()

    async def test(box: carboy.AsyncSandbox) -> None:
        async def one(name: str) -> Any:
            WHO.set(name)
            return (await box.run("result = who()")).result

        assert list(await asyncio.gather(one("a"), one("b"))) == ["a", "b"]

    with_box(test, tools=[who])


@pytest.mark.parametrize("how", ["cancel", "end"])
def test_tasks_of_tools_end_with_their_run(how: str) -> None:
    ended: list[str] = []
    code = "await forever()"
    if how == "end":
        code = "import asyncio\ntask = asyncio.ensure_future(forever())\nawait begun()"

    async def forever() -> None:
        try:
            ended.append("began")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def begun() -> None:
        while not ended:
            await asyncio.sleep(0.01)

    async def test(box: carboy.AsyncSandbox) -> None:
        task = asyncio.create_task(box.run(code))
        await begun()
        if how == "cancel":
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        # A server is told, too. Whoever started this waits only so long for both.
        while len(ended) < 2 or len(asyncio.all_tasks()) > 2:
            await asyncio.sleep(0.01)
        assert ended == ["began", "cancelled"]

    with_box(test, tools=[forever, begun])
    if how == "end":
        ended.clear()
        carboy.run(code, tools=[forever, begun])
        until = time.monotonic() + 60
        while len(ended) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        assert ended == ["began", "cancelled"]


def test_ctrl_c_in_a_tool_reaches_the_caller() -> None:
    code = """
        import carboy, os, signal, time
        def tool():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(20)
        box = carboy.Sandbox()
        try:
            box.run("tool()", tools=[tool])
        except KeyboardInterrupt:
            print("interrupted", box.run("1").result)
    """
    with script(code) as program:
        assert program.communicate(timeout=15)[0] == "interrupted 1\n"


def test_two_thousand_runs_with_sixteen_calls_each() -> None:
    # In a program of its own, so that threads and processes can be counted.
    code = """
        import asyncio, os, sys, threading, time
        import carboy
        started = []
        def audit(event, arguments):
            if event in ("os.fork", "os.forkpty", "os.posix_spawn", "subprocess.Popen"):
                started.append(event)
        sys.addaudithook(audit)
        calls = 0
        async def add(a: int, b: int) -> int:
            global calls
            calls += 1
            return a + b
        def plain(a: int) -> int:
            return a
        CODE = (
            "import asyncio\\n"
            "result = sum(await asyncio.gather(*[add(n, 1) for n in range(15)])) + plain(x)"
        )
        async def main():
            async with carboy.AsyncSandbox(tools=[add, plain]) as box:
                runs = [box.run(CODE, {"x": number}) for number in range(2000)]
                outs = await asyncio.gather(*runs)
                assert [out.result for out in outs] == [120 + n for n in range(2000)], outs
                assert {len(out.tool_calls) for out in outs} == {16}
                tasks = len(os.listdir("/proc/self/task"))
                print(calls, started, threading.active_count(), tasks)
        asyncio.run(main())
    """
    with script(code) as program:
        said = program.communicate(timeout=100)[0]
        assert said == "30000 ['subprocess.Popen'] 2 2\n"


def test_calls_of_a_run_that_is_over_are_not_made() -> None:
    made: list[int] = []

    def slow(n: int) -> None:
        made.append(n)
        time.sleep(0.4)

    code = """
import threading
for n in range(8):
    threading.Thread(target=slow, args=(n,), daemon=True).start()
while True: pass
"""
    with carboy.Sandbox(tools=[slow]) as box:
        out = box.run(code, timeout=0.5)
        assert out.error is not None and out.error.kind == "limit"
        assert len(made) <= 3
        assert box.run("result = 1").result == 1
