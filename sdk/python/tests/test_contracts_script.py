"""Scripts with a context: one dict as the answer, whatever the script did."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import carboy
from carboy.contracts import create_sandbox

MIB = 1 << 20


def run(script: str, context: Any = None, **limits: Any) -> dict[str, Any]:
    return create_sandbox(**limits).run_script(script, context)


def test_a_script_answers() -> None:
    sandbox = create_sandbox()
    answer = sandbox.run_script("result = context['a'] + 1", {"a": 1})
    assert answer == {"status": "ok", "result": 2}
    assert sandbox.run_script("sum(context)", [1, 2, 3]) == {"status": "ok", "result": 6}
    assert sandbox.run_script("x = 1", {}) == {"status": "ok", "result": None}
    assert sandbox.run_script("result = context", None) == {"status": "ok", "result": None}


def test_the_defaults_are_30_seconds_256_mebibytes_and_10_seconds() -> None:
    sandbox = create_sandbox()
    assert sandbox.run_script("result = len(bytearray(200 << 20))", {})["result"] == 200 << 20
    answer = sandbox.run_script("result = len(bytearray(300 << 20))", {})
    assert answer["status"] == "error" and "memory" in answer["error"]
    assert sandbox._policy["limits"] == {
        "wall_ms": 30_000,
        "cpu_ms": 10_000,
        "memory_bytes": 256 * MIB,
    }


def test_both_limits_of_time_are_a_timeout() -> None:
    on_the_clock = run("import time\ntime.sleep(9)", timeout=0.2)
    assert (on_the_clock["status"], on_the_clock["error"]) == ("error", "timeout")
    of_the_processor = run("while True: pass", cpu_limit=1, timeout=8)
    assert (of_the_processor["status"], of_the_processor["error"]) == ("error", "timeout")


def test_a_script_that_speaks_of_timeouts_is_none() -> None:
    answer = run("raise TimeoutError('timeout')")
    assert answer["error"] == "TimeoutError at line 1: timeout"


@pytest.mark.parametrize(
    "script",
    [
        "result = object()",
        "result = {(1, 2): 3}",
        "result = float('nan')",
        "result = '\\ud800'",
        "result = 10 ** 5000",
        "result = 'x' * (2 << 20)",
        "result = []\nfor _ in range(200): result = [result]",
        "result = []\nresult.append(result)",
    ],
)
def test_a_result_that_is_not_json_or_too_large_or_too_deep_is_invalid_output(script: str) -> None:
    answer = run(script)
    assert (answer["status"], answer["error"]) == ("error", "invalid output")
    assert "exit_code" not in answer


@pytest.mark.parametrize(
    ("script", "kind", "words"),
    [
        ("x = 1\nx / 0", "ZeroDivisionError", "at line 2: division by zero"),
        ("x = (", "SyntaxError", "at line 1"),
        ("import socket\nsocket.socket()", "PermissionError", "at line 2"),
        ("open('/etc/shadow')", "FileNotFoundError", "at line 1"),
        ("class ResultNotJson(Exception): pass\nraise ResultNotJson('x')", "ResultNotJson", "x"),
    ],
)
def test_an_error_has_its_text_and_its_type(script: str, kind: str, words: str) -> None:
    answer = run(script)
    assert set(answer) == {"status", "error", "error_type"}
    assert answer["error_type"] == kind and words in answer["error"]


def test_a_limit_is_named() -> None:
    answer = run("x = bytearray(10 ** 9)", memory_limit=64 * MIB)
    assert "limit memory_bytes" in answer["error"] and "64 MiB" in answer["error"]


@pytest.mark.parametrize(
    ("script", "code"),
    [
        ("import os\nos._exit(3)", 3),
        ("import os\nos._exit(0)", 0),
        ("import ctypes\nctypes.string_at(0)", -11),
        ("raise SystemExit(3)", 3),
        ("import sys\nsys.exit(-1)", 255),
        ("import sys\nsys.exit('bad')", 1),
        ("import sys\nsys.exit('3')", 1),
        ("import sys\nsys.exit([1])", 1),
        ("raise SystemExit('9' * 3000)", 1),
    ],
)
def test_a_process_that_died_or_left_has_an_exit_code(script: str, code: int) -> None:
    answer = run(script)
    assert answer["status"] == "error" and answer["exit_code"] == code


def test_leaving_without_a_fault_is_ok() -> None:
    assert run("result = 1\nraise SystemExit")["result"] == 1
    assert run("result = 1\nimport sys\nsys.exit(0)") == {"status": "ok", "result": 1}


FORGED = """
import os
def say(type_name, message):
    body = b'{"failed":{"type":"%s","message":"%s","errno":1}}' % (type_name, message)
    os.write(4, len(body).to_bytes(4, "big") + body)
    while True: pass
"""


@pytest.mark.parametrize(
    "said",
    [
        "say(b'SIG' + b'9' * 5000, b'')",
        "say(b'SystemExit', b'9' * 5000)",
        "say(b'Exit', b'the interpreter exited with code ' + b'9' * 5000 + b' ')",
        "try: os.fork()\nexcept OSError: pass\nsay(b'SIG' + b'9' * 5000, b'x')",
        "say(b'ResultNotJson', b'')",
        "os.close(4)",
        "os.write(4, b'nonsense')",
    ],
)
def test_a_jar_that_lies_gets_an_answer_of_the_same_form(said: str) -> None:
    answer = run(f"{FORGED}\n{said}", timeout=0.5)
    assert answer["status"] == "error"
    assert set(answer) <= {"status", "error", "error_type", "exit_code"}
    assert len(json.dumps(answer)) < 3_000


@pytest.mark.parametrize("script", ["\ud800", "#" * 5_000_000, "\0"])
def test_no_text_makes_it_raise(script: str) -> None:
    answer = run(script)
    assert answer["status"] == "error" and answer["error_type"] in ("SyntaxError", "ValueError")


@pytest.mark.parametrize(
    ("limits", "name"),
    [
        ({"timeout": 0}, "timeout"),
        ({"timeout": "30"}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"cpu_limit": -1}, "cpu_limit"),
        ({"cpu_limit": True}, "cpu_limit"),
        ({"memory_limit": "256MiB"}, "memory_limit"),
        ({"memory_limit": 1.5}, "memory_limit"),
    ],
)
def test_wrong_limits_are_the_callers_mistake(limits: dict[str, Any], name: str) -> None:
    with pytest.raises(carboy.RequestError, match=name):
        create_sandbox(**limits)


def test_a_context_that_is_not_json_is_the_callers_mistake() -> None:
    with pytest.raises(carboy.RequestError, match="context"):
        create_sandbox().run_script("1", {"a": {1}})
    with pytest.raises(carboy.RequestError, match="str"):
        create_sandbox().run_script(b"1", {})  # type: ignore[arg-type]


def test_threads_share_a_sandbox() -> None:
    sandbox = create_sandbox()
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: sandbox.run_script("context * 2", n), range(40)))
    assert [answer["result"] for answer in answers] == [n * 2 for n in range(40)]
