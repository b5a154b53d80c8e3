"""Runs as a caller without an event loop makes them."""

from __future__ import annotations

import hashlib
import pickle
import time
from typing import Any

import pytest

import carboy


def test_a_run_answers() -> None:
    assert carboy.run("result = sum(range(10))").result == 45
    assert carboy.run("6 * 7").result == 42


def test_an_outcome_says_how_it_went(box: carboy.Sandbox) -> None:
    out = box.run("print('hi')\nresult = {'a': [1, None, 'é']}")
    assert (out.ok, out.result, out.error) == (True, {"a": [1, None, "é"]}, None)
    assert (out.stdout, out.stderr, out.denials, out.tool_calls) == ("hi\n", "", [], [])
    assert out.usage.wall_ms > 0 and out.usage.peak_memory_bytes > 1 << 20
    assert out.isolation.walls == "full" and out.isolation.layers["no_new_privs"]
    assert out.raise_for_error() is out
    assert box.run("open('left.txt', 'w').write('abc')").artifacts == [
        carboy.Artifact("left.txt", 3, hashlib.sha256(b"abc").hexdigest(), "text/plain")
    ]


@pytest.mark.parametrize(
    ("code", "policy", "error"),
    [
        ("1 / 0", None, carboy.GuestExceptionError),
        ("result = object()", {"strict": True}, carboy.GuestExceptionError),
        ("while True: pass", {"limits": {"wall_ms": 50}}, carboy.TimeLimitError),
        ("x = bytearray(10 ** 9)", None, carboy.LimitError),
        ("import socket; socket.socket()", None, carboy.DeniedError),
        ("import os", carboy.Policy(language=carboy.Language("hook")), carboy.RejectedError),
        ("import os; os._exit(3)", None, carboy.CrashError),
    ],
)
def test_a_bad_end_is_returned_or_raised(
    box: carboy.Sandbox, code: str, policy: Any, error: type[carboy.RunError]
) -> None:
    out = box.run(code, policy=policy)
    assert not out.ok and out.error is not None
    with pytest.raises(error) as raised:
        box.run(code, policy=policy, on_error="raise")
    again = raised.value
    assert type(again) is error and again.outcome.error is not None
    assert again.outcome.error.kind == out.error.kind
    assert isinstance(again, TimeoutError) == (error is carboy.TimeLimitError)
    copied = pickle.loads(pickle.dumps(again))
    assert type(copied) is error and str(copied) == str(again)


def test_exceptions_read_well_alone(box: carboy.Sandbox) -> None:
    with pytest.raises(carboy.RunError) as raised:
        box.run("x = 1\n[][x]", on_error="raise")
    assert str(raised.value) == "exception IndexError at line 2: list index out of range"
    with pytest.raises(carboy.RunError) as raised:
        box.run("while True: pass", timeout=0.05, on_error="raise")
    assert str(raised.value) == (
        "limit wall_ms: the run took longer than 50 ms\n"
        "hint: do less in one run\n"
        "hint for whoever sets the policy: raise limits.wall_ms, which is 50 ms"
    )


def test_inputs_are_seen_under_their_names(box: carboy.Sandbox) -> None:
    inputs = {"q": "é\n\u2028", "rows": ({"a": 1.5}, [True, None]), "context": 3}
    out = box.run("result = [q, rows, context]", inputs)
    assert out.result == ["é\n\u2028", [{"a": 1.5}, [True, None]], 3]
    assert carboy.run("q", inputs={"q": 1}).result == 1


def test_policies_in_every_form(box: carboy.Sandbox) -> None:
    code = "import time; time.sleep(5)"
    policies: list[Any] = [
        carboy.Policy.preset("low", wall_ms=30),
        carboy.Policy(limits=carboy.Limits(wall_ms=30, memory_bytes="64MiB"), walls="full"),
        {"limits": {"wall_ms": 30}},
    ]
    for policy in policies:
        error = box.run(code, policy=policy).error
        assert error is not None and error.limit == carboy.LimitHit("wall_ms", 30)
    assert box.run("1", policy="max").ok


@pytest.mark.parametrize(
    ("policy", "timeout", "allowed"),
    [
        (None, 0.04, 40),
        ({"limits": {"wall_ms": 30}}, 5, 30),
        ({"limits": {"wall_ms": 900}}, 0.03, 30),
    ],
)
def test_a_timeout_only_lowers(
    box: carboy.Sandbox, policy: Any, timeout: float, allowed: int
) -> None:
    error = box.run("import time; time.sleep(5)", policy=policy, timeout=timeout).error
    assert error is not None and error.limit == carboy.LimitHit("wall_ms", allowed)


def test_output_comes_as_it_is_printed(box: carboy.Sandbox) -> None:
    seen: list[tuple[carboy.Chunk, float]] = []
    code = "import time, sys\nprint('a', flush=True)\ntime.sleep(0.3)\nprint('b', file=sys.stderr)"
    out = box.run(code, on_output=lambda chunk: seen.append((chunk, time.monotonic())))
    assert [chunk for chunk, _ in seen] == [
        carboy.Chunk("stdout", "a\n"),
        carboy.Chunk("stderr", "b\n"),
    ]
    assert seen[1][1] - seen[0][1] > 0.2 and (out.stdout, out.stderr) == ("a\n", "b\n")


def test_what_a_callback_raises_reaches_the_caller_and_ends_the_run(box: carboy.Sandbox) -> None:
    def stop(chunk: carboy.Chunk) -> None:
        raise KeyError(chunk.text)

    began = time.monotonic()
    with pytest.raises(KeyError):
        box.run("print(1, flush=True)\nimport time; time.sleep(20)", on_output=stop)
    assert box.run("2").result == 2 and time.monotonic() - began < 5


def test_a_stream_gives_chunks_and_then_the_outcome(box: carboy.Sandbox) -> None:
    with box.stream("print(q)\nresult = q", {"q": 4}) as stream:
        with pytest.raises(carboy.RequestError, match="no outcome yet"):
            _ = stream.outcome
        assert "".join(chunk.text for chunk in stream) == "4\n"
        assert stream.outcome.result == 4
        assert list(stream) == []


def test_a_stream_can_raise_at_its_end(box: carboy.Sandbox) -> None:
    stream = box.stream("print(1)\n1/0", on_error="raise")
    assert next(stream).text == "1\n"
    with pytest.raises(carboy.GuestExceptionError):
        next(stream)
    assert not stream.outcome.ok


def test_a_stream_that_is_left_early_cancels_its_run(box: carboy.Sandbox) -> None:
    code = "import time\nprint(1, flush=True)\ntime.sleep(20)"
    began = time.monotonic()
    with box.stream(code) as stream:
        next(stream)
    stream = box.stream(code)
    del stream  # Whoever forgets it cancels it too.
    pipe = box._pipe
    assert pipe is not None
    while pipe._runs and time.monotonic() - began < 5:
        box.run("1")
    assert not pipe._runs


class Odd:
    pass


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"x": Odd()}, "'x' is not JSON: Odd"),
        ({"x": [1, {"a": {1, 2}}]}, "'x' is not JSON: set at [1]['a']"),
        ({"x": {"a": {(1, 2): 2}}}, "a key that is tuple, not str at ['a']"),
        ({"x": {b"k": 2}}, "a key that is bytes"),
        ({"x": {1: 2, "1": 3}}, "two keys that are both '1' in JSON"),
        ({"x": {float("nan"): 2}}, "a key that cannot be written"),
        ({"x": [0.5, float("nan")]}, "the float nan at [1]"),
        ({"x": float("inf")}, "the float inf"),
        ({"x": "\ud800"}, "a string with an unpaired surrogate"),
        ({"x": b"abc"}, "bytes"),
        ({"not a name": 1}, "not a valid Python identifier"),
        ({"class": 1}, "is a Python keyword"),
        ({1: 1}, "not a valid Python identifier"),
        ([1], "must be a mapping"),
        ("x", "must be a mapping"),
    ],
)
def test_inputs_that_are_not_json_are_the_callers_mistake(
    box: carboy.Sandbox, inputs: Any, words: str
) -> None:
    with pytest.raises(carboy.RequestError) as raised:
        box.run("1", inputs)
    assert words in str(raised.value) and isinstance(raised.value, ValueError)


def test_inputs_that_hold_themselves_or_nest_too_deep_are_refused(box: carboy.Sandbox) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(carboy.RequestError, match="deeper than 100"):
        box.run("1", {"x": loop})
    deep: Any = 1
    for _ in range(100):
        deep = [deep]
    assert box.run("1", {"x": deep}).ok


@pytest.mark.parametrize(
    "wrong",
    [
        {"code": 1},
        {"code": "\ud800"},
        {"policy": "lots"},
        {"policy": 3},
        {"policy": {"limits": {"wall_ms": Odd()}}},
        {"policy": {"limits": {"wall": 1}}},
        {"policy": carboy.Policy(walls="paper")},
        {"policy": carboy.Policy(limits=carboy.Limits(wall_ms=0))},
        {"timeout": 0},
        {"timeout": float("nan")},
        {"timeout": "1"},
        {"on_error": "ignore"},
    ],
)
def test_a_wrong_request_is_a_request_error(box: carboy.Sandbox, wrong: dict[str, Any]) -> None:
    with pytest.raises(carboy.RequestError):
        box.run(**{"code": "1", **wrong})
    assert box.run("1").ok


def test_wrong_settings_are_request_errors() -> None:
    for wrong in [
        {"preload": "pandas"},
        {"policy": "lots"},
        {"on_error": 1},
        {"tools": print},
        *({"memory_budget": size} for size in (-1, True, 1.5, "", "1.5G", "1MB", "512m", " 1")),
    ]:
        with pytest.raises(carboy.RequestError):
            carboy.Sandbox(**wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="argument 'wall'. Did you mean 'wall_ms'?") as raised:
        carboy.Policy.preset("low", wall=1)
    assert isinstance(raised.value, carboy.RequestError)


def test_runs_fit_in_the_memory_budget_of_their_box() -> None:
    for budget in ("300M", 300 << 20):
        with carboy.Sandbox(memory_budget=budget) as box:
            with pytest.raises(carboy.RequestError, match="MiB"):
                box.run("1", policy={"limits": {"memory_bytes": 600 << 20}})
            assert box.run("1", policy={"limits": {"memory_bytes": 100 << 20}}).ok


def test_a_start_tells_of_each_module_that_is_preloaded() -> None:
    told: list[carboy.Preloaded] = []
    box = carboy.Sandbox(preload=["fractions", "json"])
    try:
        box.start(on_preload=told.append)
        assert [(one.module, one.done, one.count) for one in told] == [
            ("fractions", 1, 2),
            ("json", 2, 2),
        ]
        assert all(one.took_ms is not None and one.late is None for one in told)
        # They are there already.
        box.start(on_preload=told.append)
        assert len(told) == 2
    finally:
        box.close()


def test_modules_can_be_preloaded() -> None:
    with carboy.Sandbox(preload=["fractions", "json"]) as box:
        out = box.run(
            "import sys\nresult = [name in sys.modules for name in ('fractions', 'json')]"
        )
        assert out.result == [True, True]


def test_a_closed_box_says_so() -> None:
    box = carboy.Sandbox()
    box.close()
    box.close()
    with pytest.raises(carboy.RequestError, match="closed"):
        box.run("1")


def test_large_inputs_and_results_pass(box: carboy.Sandbox) -> None:
    text = "é" * 3_000_000
    policy = carboy.Policy(limits=carboy.Limits(result_bytes="64MiB"))
    assert box.run("result = x + x", {"x": text}, policy=policy).result == text * 2


def test_large_code_passes(box: carboy.Sandbox) -> None:
    assert box.run("#" * 1_000_000 + "\n1").result == 1
