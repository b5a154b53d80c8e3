"""However an engine, its caller or a fork of it ends, nobody waits for ever and nothing is left."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
import time
from pathlib import Path

import pytest

import carboy
from programs import alive, children, pretender, script
from test_framing import OUTCOME, READY
from test_threads import in_threads

SLEEP = "import time; time.sleep(20)"


def kill(box: carboy.Sandbox | carboy.AsyncSandbox) -> int:
    assert box._pipe is not None
    pid = box._pipe.process.pid
    os.kill(pid, signal.SIGKILL)
    return pid


def test_every_thread_gets_its_own_error_and_the_next_run_works() -> None:
    with carboy.Sandbox() as box:
        killing = threading.Timer(0.3, kill, [box])
        killing.start()
        ends = in_threads(8, lambda n: box.run(SLEEP))
        killing.join()
        assert {type(end) for end in ends} == {carboy.EngineGoneError}
        assert len({id(end) for end in ends}) == 8
        assert str(ends[0]).startswith(
            "the engine was killed by SIGKILL while the run was under way"
        )
        assert in_threads(4, lambda n: box.run(f"{n}").result) == [0, 1, 2, 3]


def test_every_task_gets_its_own_error_and_the_next_run_works() -> None:
    async def main() -> None:
        async with carboy.AsyncSandbox() as box:
            tasks = [asyncio.create_task(box.run(SLEEP)) for _ in range(8)]
            await asyncio.sleep(0.3)
            kill(box)
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert {type(end) for end in ends} == {carboy.EngineGoneError}
            assert len({id(end) for end in ends}) == 8
            assert (await box.run("3")).result == 3

    asyncio.run(main())


def test_an_engine_that_died_unnoticed_is_replaced_without_a_word() -> None:
    before = set(children())
    with carboy.Sandbox() as box:
        for number in range(3):
            assert box.run(f"{number}").result == number
            pid = kill(box)
            while alive(pid):
                time.sleep(0.001)
        # The others were reaped.
        assert set(children()) - before <= {pid}


def test_nothing_is_left_of_a_box() -> None:
    before = set(os.listdir("/proc/self/fd"))
    box = carboy.Sandbox().start()
    assert box._pipe is not None
    pids = [box._pipe.process.pid]
    box.run("1")
    box.close()
    box = carboy.Sandbox().start()
    assert box._pipe is not None
    pids.append(box._pipe.process.pid)
    del box
    gc.collect()
    assert not any(map(alive, pids)) and not set(pids) & set(children())
    assert set(os.listdir("/proc/self/fd")) == before


def test_a_forked_child_has_an_engine_of_its_own_and_leaves_the_parents_alone() -> None:
    code = """
        import carboy, os, threading
        box = carboy.Sandbox()
        assert box.run("1").result == 1 and carboy.run("2").result == 2
        engine = box._pipe.process.pid
        descriptors = [box._pipe.process.requests, box._pipe.process.answers]
        stream = box.stream("import time; time.sleep(0.5); result = 9")
        child = os.fork()
        if child == 0:
            for descriptor in descriptors:
                try:
                    os.fstat(descriptor)
                    os._exit(1)
                except OSError:
                    pass
            try:
                list(stream)
                os._exit(2)
            except carboy.EngineGoneError as error:
                assert "forked" in str(error)
            assert box.run("3").result == 3 and carboy.run("4").result == 4
            assert box._pipe.process.pid != engine
            box.close()
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        list(stream)
        print(stream.outcome.result, box.run("5").result, box._pipe.process.pid == engine)
    """
    with script(code) as program:
        assert program.communicate(timeout=20)[0].split() == ["0", "9", "5", "True"]
        assert program.returncode == 0


def test_a_child_that_is_forked_while_other_threads_run_works() -> None:
    code = """
        import carboy, os, threading
        box = carboy.Sandbox().start()
        over = False
        def work():
            while not over:
                box.run("1")
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        codes = []
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(box.run("7").result)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        over = True
        for thread in threads:
            thread.join()
        print(codes, box.run("8").result)
    """
    with script(code) as program:
        assert program.communicate(timeout=30)[0] == "[7, 7, 7, 7, 7] 8\n"


@pytest.mark.parametrize("end", ["", "import os; os._exit(0)", "os.kill(os.getpid(), 9)", "1 / 0"])
def test_an_engine_ends_with_its_caller(end: str) -> None:
    code = f"""
        import carboy, os, sys, threading
        box = carboy.Sandbox().start()
        box.run("1")
        threading.Thread(target=lambda: box.run("import time; time.sleep(20)"), daemon=True).start()
        print(box._pipe.process.pid, flush=True)
        sys.stdin.readline()
        sys.stderr = None
        {end}
    """
    with script(code) as program:
        assert program.stdout is not None
        pid = int(program.stdout.readline())
        assert alive(pid)
        began = time.monotonic()
        program.communicate("\n", timeout=20)
        while alive(pid) and time.monotonic() - began < 5:
            time.sleep(0.01)
        assert not alive(pid)


def test_ctrl_c_cancels_the_run_and_the_box_goes_on() -> None:
    code = """
        import carboy, threading, time
        box = carboy.Sandbox().start()
        others = []
        def other(number):
            others.append(box.run(f"import time; time.sleep(1.0); result = {number}").result)
        threads = [threading.Thread(target=other, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(2):
            began = time.monotonic()
            try:
                print("running", flush=True)
                box.run("while True: pass")
            except KeyboardInterrupt:
                print("interrupted", time.monotonic() - began < 5, flush=True)
        for thread in threads:
            thread.join()
        print(sorted(others), box.run("7").result, box._pipe._runs, flush=True)
    """
    with script(code, start_new_session=True) as program:
        assert program.stdout is not None
        for _ in range(2):
            assert program.stdout.readline() == "running\n"
            time.sleep(0.25)
            # As a terminal does it: to all of the group. The engine is in another.
            os.killpg(program.pid, signal.SIGINT)
            assert program.stdout.readline() == "interrupted True\n"
        assert program.stdout.readline() == "[0, 1, 2] 7 {}\n"
        assert program.wait(10) == 0


def test_interrupts_at_any_moment_leave_a_box_that_works() -> None:
    # A torn message costs the runs under way an `EngineGoneError`, and nothing else.
    code = """
        import carboy, os, random, signal, threading, time
        box = carboy.Sandbox().start()
        over, odd, armed, hits = False, [], False, 0
        def interrupted(*_):
            # Once for each run, and never where this program itself could not bear it.
            global armed
            if armed:
                armed = False
                raise KeyboardInterrupt
        signal.signal(signal.SIGINT, interrupted)
        def other():
            while not over:
                try:
                    if box.run("5").result != 5:
                        odd.append("result")
                except carboy.EngineGoneError as error:
                    pass
                except BaseException as error:
                    odd.append(repr(error))
        def interrupt():
            for _ in range(200):
                time.sleep(random.random() * 0.004)
                os.kill(os.getpid(), signal.SIGINT)
        threads = [threading.Thread(target=other) for _ in range(3)]
        interrupting = threading.Thread(target=interrupt)
        for thread in [*threads, interrupting]:
            thread.start()
        while interrupting.is_alive():
            try:
                armed = True
                box.run("print('x' * 20000)\\nresult = 6", on_output=lambda chunk: None)
            except carboy.EngineGoneError:
                pass
            except KeyboardInterrupt:
                hits += 1
            finally:
                armed = False
        over = True
        for thread in threads:
            thread.join(20)
        print(hits > 20, odd, [thread.is_alive() for thread in threads], box.run("7").result)
    """
    with script(code) as program:
        assert program.communicate(timeout=40)[0] == "True [] [False, False, False] 7\n"


def test_a_line_on_the_terminal_says_what_is_waited_for(tmp_path: Path) -> None:
    path = pretender(
        tmp_path,
        f"""{OUTCOME}
say({READY!r} + chr(10))
for number, job in runs():
    time.sleep(1.2)
    say(outcome(number, 1) + chr(10))
""",
    )
    for code in (
        "import carboy; box = carboy.Sandbox(preload=['pandas']); box.run('1'); box.close()",
        "import asyncio, carboy\n"
        "async def main():\n"
        "    async with carboy.AsyncSandbox(preload=['pandas']) as box:\n"
        "        await box.run('1')\n"
        "asyncio.run(main())",
    ):
        terminal, end = os.openpty()
        try:
            with script(code, stderr=end, env={**os.environ, "CARBOY_BINARY": path}) as program:
                program.communicate(timeout=20)
            os.set_blocking(terminal, False)
            said = os.read(terminal, 10_000).decode()
        finally:
            os.close(terminal)
            os.close(end)
        assert said.startswith("carboy: waiting for the first run ") and "with pandas …" in said
        assert said.endswith("\r\x1b[K")


def test_the_line_counts_what_is_preloaded(tmp_path: Path) -> None:
    path = pretender(
        tmp_path,
        f"""{OUTCOME}
say({READY!r} + chr(10))
for number, job in runs():
    for done, module in enumerate(["pandas", "polars"], 1):
        time.sleep(1.0)
        body = {{"module": module, "done": done, "count": 2}}
        say(json.dumps({{"preloaded": body}}) + chr(10))
    time.sleep(0.2)
    say(outcome(number, 1) + chr(10))
""",
    )
    code = "import carboy; carboy.Sandbox(preload=['pandas', 'polars']).start().close()"
    terminal, end = os.openpty()
    try:
        with script(code, stderr=end, env={**os.environ, "CARBOY_BINARY": path}) as program:
            program.communicate(timeout=20)
        os.set_blocking(terminal, False)
        said = os.read(terminal, 10_000).decode()
    finally:
        os.close(terminal)
        os.close(end)
    assert "carboy: 1 of 2 preloaded: pandas …" in said
    assert said.endswith("\r\x1b[Kcarboy: 2 of 2 preloaded: polars …\r\x1b[K")
