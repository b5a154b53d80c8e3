"""Sessions: state that is kept, survives, branches and goes back."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import carboy
from carboy._request import Settings, asking, named

# So that a small machine holds several.
SMALL = carboy.Policy(limits=carboy.Limits(session_memory_bytes="128MiB", heads=6))
CRASH = "x = 0\nimport ctypes\nctypes.string_at(0)"
ENDLESS = "x = 0\nprint('on', flush=True)\nwhile True:\n    pass"


@pytest.fixture
def session(box: carboy.Sandbox) -> Iterator[carboy.Session]:
    with box.session(policy=SMALL) as session:
        yield session


def test_state_is_kept_and_each_run_has_its_own_outcome(session: carboy.Session) -> None:
    first = session.run("x = [n]\nprint('one')", {"n": 1})
    assert (first.ok, first.result, first.stdout) == (True, None, "one\n")
    assert (first.state, first.note) == ("kept", None)
    second = session.run("x.append(2)\nx")
    assert (second.result, second.stdout) == ([1, 2], "")
    raised = session.run("x.append(3)\n1 / 0")
    assert raised.error is not None and raised.error.kind == "exception"
    assert raised.state == "kept" and "state" not in raised.explain()
    assert session.run("x").result == [1, 2, 3]
    undone = session.run("x.append(4)\n1 / 0", rollback=True)
    assert undone.state == "restored" and session.run("x").result == [1, 2, 3]
    with pytest.raises(carboy.GuestExceptionError) as caught:
        session.run("1 / 0", on_error="raise")
    assert isinstance(caught.value.outcome, carboy.SessionOutcome)


def test_a_stream_gives_output_as_it_comes_and_then_the_outcome(session: carboy.Session) -> None:
    with session.stream("x = 5\nprint(n)\nx", {"n": 4}) as stream:
        assert "".join(chunk.text for chunk in stream) == "4\n"
        assert (stream.outcome.result, stream.outcome.state) == (5, "kept")
    stream = session.stream("print(1)\n1 / 0", on_error="raise", rollback=True)
    assert next(stream).text == "1\n"
    with pytest.raises(carboy.GuestExceptionError):
        next(stream)
    assert stream.outcome.state == "restored"
    # Whoever leaves it early interrupts the run, and so does whoever forgets it.
    with session.stream(ENDLESS) as stream:
        assert next(stream).text == "on\n"
    with pytest.raises(carboy.RequestError, match="closed before its end"):
        _ = stream.outcome
    forgotten = session.stream(ENDLESS)
    del forgotten
    # Another way to interrupt it, which has an outcome.
    stream = session.stream(ENDLESS)
    assert next(stream).text == "on\n"
    session.interrupt()
    assert "".join(chunk.text for chunk in stream) == ""
    error = stream.outcome.error
    assert error is not None and error.kind == "cancelled" and stream.outcome.state == "restored"
    assert session.run("x").result == 5


def test_a_run_that_dies_leaves_the_state_as_it_was(session: carboy.Session) -> None:
    session.run("x = 7")
    crashed = session.run(CRASH)
    assert crashed.error is not None and crashed.error.kind == "crash"
    assert crashed.state == "restored"
    assert crashed.explain().endswith("The session's state is what it was before this run.")
    late = session.run(ENDLESS, timeout=0.3)
    assert late.error is not None and late.error.limit == carboy.LimitHit("wall_ms", 300)
    assert late.state == "restored" and session.run("x").result == 7


def test_another_thread_interrupts_a_run_and_the_state_is_kept(session: carboy.Session) -> None:
    session.run("x = 7")
    interrupters: list[threading.Thread] = []

    def on_output(chunk: carboy.Chunk) -> None:
        # It has begun.
        interrupters.append(threading.Thread(target=session.interrupt))
        interrupters[-1].start()

    stopped = session.run(ENDLESS, on_output=on_output)
    for thread in interrupters:
        thread.join()
    assert stopped.error is not None and stopped.error.kind == "cancelled"
    assert stopped.state == "restored" and session.run("x").result == 7
    session.interrupt()  # Nothing is under way.
    assert session.run("x").result == 7


def test_a_caller_that_gives_up_leaves_the_state_as_it_was(session: carboy.Session) -> None:
    session.run("x = 7")

    def give_up(chunk: carboy.Chunk) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session.run(ENDLESS, on_output=give_up)
    assert session.run("x").result == 7


def test_branches_and_checkpoints(session: carboy.Session) -> None:
    session.run("x = 1")
    session.checkpoint("one")
    session.run("x = 2")
    with session.branch() as branch:
        assert branch.run("x += 40\nx").result == 42
        assert session.run("x").result == 2
        assert branch.checkpoints() == [] and session.checkpoints() == ["one"]
    with pytest.raises(carboy.RequestError, match="the session is closed"):
        branch.run("x")
    session.rollback("one")
    assert session.run("x").result == 1
    session.drop("one")
    assert session.checkpoints() == []
    with pytest.raises(carboy.RequestError, match="no checkpoint `one`"):
        session.rollback("one")
    with pytest.raises(carboy.RequestError, match="must be str"):
        session.checkpoint(1)  # type: ignore[arg-type]


def test_there_are_as_many_heads_as_the_policy_allows(session: carboy.Session) -> None:
    branches = [session.branch() for _ in range(5)]
    with pytest.raises(carboy.RequestError, match="6"):
        session.branch()
    branches.pop().close()
    assert session.branch().run("1 + 1").result == 2


def test_a_branch_that_is_forgotten_is_closed(session: carboy.Session) -> None:
    branches = [session.branch() for _ in range(5)]
    del branches[:]
    gc.collect()
    # Nobody waits for that end, so it is asked for until it has come.
    until = time.monotonic() + 60
    while True:
        try:
            branch = session.branch()
            break
        except carboy.RequestError:
            assert time.monotonic() < until
            time.sleep(0.01)
    assert branch.run("1 + 1").result == 2


def test_a_branch_that_is_forgotten_while_the_pipe_is_busy_is_closed(
    session: carboy.Session,
) -> None:
    branch = session.branch()
    pipe = branch._pipe
    assert pipe is not None
    with pipe.lock:
        # As when the garbage collector comes while a message is being sent.
        del branch
        gc.collect()
        assert len(pipe._forgotten) == 1
    assert session.run("1 + 1").result == 2
    assert not pipe._forgotten


def test_closing_a_session_ends_its_branches(box: carboy.Sandbox) -> None:
    session = box.session(policy=SMALL)
    branch = session.branch()
    session.close()
    session.close()
    with pytest.raises(carboy.RequestError, match="it was closed"):
        branch.run("1")
    branch.close()


def test_variables_are_told(session: carboy.Session) -> None:
    session.run("name = 'abc'\nimport math\nn = 1")
    told = session.variables()
    assert carboy.Variable("name", "str", 3) in told and told.more == 0
    assert {variable.name for variable in told} >= {"name", "n"}


def test_tools_and_output_are_those_of_a_run() -> None:
    def double(n: int) -> int:
        """Twice as much."""
        return 2 * n

    def half(n: int) -> float:
        """Half of it."""
        return n / 2

    with carboy.Sandbox(SMALL, tools=[double]) as box, box.session() as session:
        chunks: list[str] = []
        code = "print('a')\ny = [double(4), half(4)]\ny"
        out = session.run(code, tools=[half], on_output=lambda chunk: chunks.append(chunk.text))
        assert (out.result, "".join(chunks)) == ([8, 2.0], "a\n")
        assert [call.tool for call in out.tool_calls] == ["double", "half"]
        figure = session.run("open('a.txt', 'w').write('b')")
        assert figure.artifacts["a.txt"].read() == b"b"


def test_a_session_is_opened_with_inputs_files_and_frames(
    box: carboy.Sandbox, tmp_path: Path
) -> None:
    # Below it: jars of a root engine may not read what is only for its owner.
    data = tmp_path / "data"
    data.mkdir()
    (data / "n.csv").write_text("a,b\n1,2\n3,4\n")
    opened = box.session(
        policy=SMALL,
        inputs={"factor": 10},
        files={"note.txt": b"a note"},
        mounts={"/data": data},
        frames={"rows": data / "n.csv"},
    )
    with opened as session:
        read = "open('note.txt').read(), open('/data/n.csv').read()[:3], factor"
        assert session.run(read).result == ["a note", "a,b", 10]
        # What is given is no file that the code left.
        assert not session.run("import os\nos.makedirs('sub')\nos.chdir('sub')").artifacts
        # Made when it is first named, also from another directory, and kept as it is changed.
        with session.branch() as branch:
            assert branch.run("len(rows)").result == 2
        session.run("rows = [len(rows)]")
        assert session.run(CRASH).state == "restored"
        assert session.run("rows, factor").result == [[2], 10]
    with pytest.raises(carboy.RequestError, match="cannot be opened"):
        box.session(policy=SMALL, files={"none.txt": tmp_path / "none.txt"})


def test_what_a_session_does_not_take_is_said(box: carboy.Sandbox, tmp_path: Path) -> None:
    with pytest.raises(carboy.RequestError, match="nested walls"):
        box.session(policy={"walls": "nested"})
    with (
        carboy.Sandbox(SMALL, store=tmp_path / "runs") as recorded,
        pytest.raises(carboy.RequestError, match="cannot be recorded"),
    ):
        recorded.session()


def test_a_frame_is_not_taken_by_a_session_that_is_open(session: carboy.Session) -> None:
    # Of a library that need not be there.
    frame = type("DataFrame", (), {"__module__": "pandas.core.frame"})()
    with pytest.raises(carboy.RequestError, match="that is open"):
        session.run("df", {"df": frame})


def test_a_session_ends_with_its_box() -> None:
    with carboy.Sandbox(SMALL) as box:
        session = box.session()
        session.run("x = 1")
    with pytest.raises(carboy.EngineGoneError, match="the engine that held the session is gone"):
        session.run("x")
    session.close()


def test_the_same_in_an_event_loop() -> None:
    async def main() -> None:
        async with carboy.AsyncSandbox(SMALL) as box:
            async with box.session() as session:
                await session.run("x = 1")
                await session.checkpoint("one")
                branch = await session.branch()
                outs = await asyncio.gather(session.run("x += 1\nx"), branch.run("x += 2\nx"))
                assert [out.result for out in outs] == [2, 3]
                await session.rollback("one")
                assert await session.checkpoints() == ["one"]
                await session.drop("one")
                assert [one.name for one in await session.variables()] == ["x"]
                assert (await session.run(CRASH)).state == "restored"
                begun = asyncio.Event()
                endless = asyncio.create_task(
                    session.run(ENDLESS, on_output=lambda chunk: begun.set())
                )
                await begun.wait()
                session.interrupt()
                stopped = await endless
                assert stopped.error is not None and stopped.error.kind == "cancelled"
                begun.clear()
                endless = asyncio.create_task(
                    session.run(ENDLESS, on_output=lambda chunk: begun.set())
                )
                await begun.wait()
                endless.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await endless
                assert (await session.run("x")).result == 1
                async with session.stream("print(x)\nx") as stream:
                    assert [chunk.text async for chunk in stream] == ["1\n"]
                assert (stream.outcome.result, stream.outcome.state) == (1, "kept")
                async with session.stream(ENDLESS) as stream:
                    assert (await anext(stream)).text == "on\n"
                assert (await session.run("x")).result == 1
            with pytest.raises(carboy.RequestError, match="it was closed"):
                await branch.run("x")
            other = await box.session()
            assert (await other.run("2")).result == 2

    asyncio.run(asyncio.wait_for(main(), 60))


def test_requests_are_those_that_the_engine_reads(golden: Path) -> None:
    def now() -> None:
        pass

    def golden_body(name: str) -> object:
        return json.loads((golden / "pipe" / f"{name}.json").read_text())

    def sent(number: int, request: object) -> object:
        assert hasattr(request, "kind") and hasattr(request, "body")
        return json.loads(b'{"%b":{"id":%d,%b' % (request.kind, number, request.body))

    settings = Settings(None, (), (), None, "return", artifacts="list")
    policy = {"limits": {"heads": 4}}
    assert sent(1, settings.opening(1, policy)) == golden_body("session_open")
    for name in ("checkpoint", "rollback", "drop"):
        assert sent(3, asking(1, named(name, "loaded"))) == golden_body(f"session_{name}")
    piece = sent(2, settings.piece(1, "x += n", {"n": 1}, [now], 1.5, True, True))
    wanted = golden_body("piece")
    assert isinstance(piece, dict) and isinstance(wanted, dict)
    piece["piece"]["piece"]["tools"] = wanted["piece"]["piece"]["tools"]
    assert piece == wanted
