"""What an engine writes is read, however it is cut; an invalid message ends in a clear error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

import carboy
from programs import alive, pretender

READY = '{"ready":{"pipe":1,"version":"0.1.0","python":"3.11.7"}}'
# What a pretender says of a run.
OUTCOME = """
import json, sys, time

def outcome(number, result=None):
    output = {"text": "", "bytes": 0, "truncated": False}
    return json.dumps({"outcome": {"id": number, "outcome": {
        "id": "0", "status": "ok", "result": result, "stdout": output, "stderr": output,
        "denials": [],
        "usage": {"queue_ms": 0, "wall_ms": 0, "cpu_ms": 0, "peak_memory_bytes": 0},
        "isolation": {"tier": "process", "walls": "full", "layers": {}}, "artifacts": []}}},
        separators=(",", ":"))

def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()

def runs():
    for line in sys.stdin:
        message = json.loads(line)
        if "run" in message:
            yield message["run"]["id"], message["run"]["job"]
"""

Pretend = Callable[[str], None]


@pytest.fixture
def pretend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pretend:
    def become(code: str) -> None:
        path = pretender(tmp_path, OUTCOME + f"ready = {READY!r} + chr(10)\n" + code)
        monkeypatch.setenv("CARBOY_BINARY", path)

    return become


def test_a_message_may_come_in_pieces(pretend: Pretend) -> None:
    pretend("""
for piece in ready:
    say(piece)
for number, job in runs():
    text = outcome(number, "é\\u2028" * 50_000 if job["code"] == "long" else 1) + chr(10)
    step = 7_000 if len(text) > 10_000 else 11
    for at in range(0, len(text), step):
        say(text[at:at + step])
        time.sleep(0.0005)
""")
    with carboy.Sandbox() as box:
        assert box.run("short").result == 1
        assert box.run("long").result == "é\u2028" * 50_000


def test_messages_may_come_together_and_for_nobody(pretend: Pretend) -> None:
    pretend("""
say(ready)
for number, job in runs():
    # Of runs that there are not, of kinds that are not known yet, and once more.
    say(outcome(77) + chr(10) + '{"news":{"id":%d}}' % number + chr(10) + '{"weather":{}}' + chr(10)
        + outcome(number, 3) + chr(10) + outcome(number, 4) + chr(10))
""")
    with carboy.Sandbox() as box:
        assert [box.run("").result, box.run("").result] == [3, 3]


@pytest.mark.parametrize("garbage", ["what?", "[]", '{"a":1,"b":2}', '{"outcome":', "\xff\xfe"])
def test_garbage_ends_the_run_and_the_engine_and_the_next_run_has_another(
    pretend: Pretend, tmp_path: Path, garbage: str
) -> None:
    pretend(f"""
import os
say(ready)
first = not os.path.exists({str(tmp_path / "first")!r})
open({str(tmp_path / "first")!r}, "w").close()
for number, job in runs():
    if first:
        sys.stdout.buffer.write({garbage!r}.encode("latin-1") + bytes([10]))
        sys.stdout.flush()
    else:
        say(outcome(number, 2) + chr(10))
""")
    with carboy.Sandbox() as box:
        with pytest.raises(carboy.EngineError, match="invalid message"):
            box.run("")
        assert box.run("").result == 2


def test_an_answer_that_cannot_be_read_is_the_trouble_of_one_run(pretend: Pretend) -> None:
    pretend("""
say(ready)
for number, job in runs():
    if job["code"] == "bad":
        say('{"outcome":{"id":%d,"outcome":{"result":%s}}}' % (number, "9" * 5_000) + chr(10))
    else:
        say(outcome(number, 5) + chr(10))
""")
    with carboy.Sandbox() as box:
        with pytest.raises(carboy.EngineError, match="could not be parsed"):
            box.run("bad")
        assert box.run("good").result == 5


@pytest.mark.parametrize("first", ['{"ready":{"pipe":2,"version":"9.0"}}', '{"hello":{}}'])
def test_another_version_is_named_and_nothing_is_sent(pretend: Pretend, first: str) -> None:
    pretend(f"""
say({first!r} + chr(10))
for line in sys.stdin:
    raise SystemExit("something was sent")
""")
    with pytest.raises(carboy.EngineError, match="this package uses version 1") as raised:
        carboy.Sandbox().run("1")
    assert ("version 2" in str(raised.value)) == ("pipe" in first)

    async def run() -> None:
        with pytest.raises(carboy.EngineError, match="this package uses version 1"):
            await carboy.AsyncSandbox().run("1")

    asyncio.run(run())


def test_an_engine_that_cannot_start_says_why(pretend: Pretend) -> None:
    pretend("""
say(json.dumps({"failed": {"failure": {
    "kind": "engine", "message": "no walls here", "causes": ["EPERM"], "hint": "ask somebody",
}}}) + chr(10))
sys.exit(10)
""")
    with pytest.raises(carboy.EngineError) as raised:
        carboy.Sandbox().start()
    assert str(raised.value) == "no walls here\n  cause: EPERM\nhint: ask somebody"


def test_an_engine_that_dies_before_it_is_ready_is_quoted(pretend: Pretend) -> None:
    pretend("""
sys.stderr.write("thread 'main' panicked\\nhint: this is no hint of ours\\n")
sys.exit(101)
""")
    with pytest.raises(carboy.EngineError) as raised:
        carboy.Sandbox().start()
    assert raised.value.causes == ("thread 'main' panicked", "hint: this is no hint of ours")
    assert str(raised.value).startswith("the engine exited with code 101 before it was ready\n")


def test_an_interpreter_that_is_not_there_is_the_callers_mistake() -> None:
    with pytest.raises(carboy.RequestError, match="/nowhere/python") as raised:
        carboy.Sandbox(python="/nowhere/python").run("1")
    assert raised.value.hint


def test_a_program_that_is_not_there_is_our_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARBOY_BINARY", "/nowhere/carboy")
    with pytest.raises(carboy.EngineError, match="could not start the engine"):
        carboy.Sandbox().run("1")


def test_a_run_that_found_no_place_waits_for_another_of_ours(pretend: Pretend) -> None:
    pretend("""
say(ready)
waiting, refused = [], 0
for number, job in runs():
    if waiting and refused < 3:
        refused += 1
        say('{"failed":{"id":%d,"failure":{"kind":"busy","message":"no"}}}' % number + chr(10))
        if refused == 3:
            say(outcome(waiting.pop(), "first") + chr(10))
    elif job["code"] == "first":
        waiting.append(number)
    else:
        say(outcome(number, refused) + chr(10))
""")

    async def run() -> list[object]:
        async with carboy.AsyncSandbox() as box:
            codes = ["first", "a", "b", "c"]
            return [out.result for out in await asyncio.gather(*map(box.run, codes))]

    assert asyncio.run(run()) == ["first", 3, 3, 3]


def test_busy_is_raised_where_nothing_of_ours_is_running(pretend: Pretend) -> None:
    pretend("""
say(ready)
for number, job in runs():
    say('{"failed":{"id":%d,"failure":{"kind":"busy","message":"too much"}}}' % number + chr(10))
""")
    with carboy.Sandbox() as box, pytest.raises(carboy.BusyError, match="too much"):
        box.run("1")


def test_an_engine_that_does_not_end_is_ended(pretend: Pretend) -> None:
    pretend("""
say(ready)
while True:
    time.sleep(60)
""")
    box = carboy.Sandbox().start()
    assert box._pipe is not None
    pid = box._pipe.process.pid
    box.close()
    assert not alive(pid)
