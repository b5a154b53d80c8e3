"""Tools of an agent: declared with a policy, and never the end of its loop."""

from __future__ import annotations

import functools
import inspect
import math
import os
import pickle
from collections.abc import Callable
from typing import Any

import pytest

import carboy
from carboy.contracts import (
    NotBuiltError,
    SandboxedTool,
    SandboxPolicy,
    ToolRegistry,
    ToolResult,
    ToolSource,
    run_under_sandbox,
    sandboxed,
)

JAR = SandboxPolicy.SUBPROCESS
HERE = SandboxPolicy.PERMISSIVE
SHORT = carboy.Limits(wall_ms=300)


@sandboxed(JAR)
def total(prices: list[float], rate: float = 1.0) -> float:
    """The sum of prices."""
    return sum(prices) * rate


@sandboxed(JAR, limits=SHORT)
def spin() -> None:
    while True:
        pass


@sandboxed(JAR)
def eat() -> int:
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


@sandboxed(JAR)
def bomb() -> None:
    import os

    while True:
        os.fork()


@sandboxed(JAR)
def stubborn_bomb() -> None:
    import os

    while True:
        try:
            os.fork()
        except OSError:
            pass


def where() -> int:
    import os

    return os.getpid()


def fail() -> None:
    raise KeyError("nothing there")


def test_an_agents_loop_meets_the_worst_and_goes_on() -> None:
    registry = ToolRegistry()
    for tool in (total, spin, eat, bomb, stubborn_bomb):
        registry.register(tool)
    registry.register(fail, policy=JAR)
    plan: list[tuple[str, dict[str, Any]]] = [
        ("spin", {}),
        ("eat", {}),
        ("bomb", {}),
        ("stubborn_bomb", {}),
        ("fail", {}),
        ("forget_all_rules", {}),
        ("total", {"price": 1}),
        ("total", {"prices": [1, 2, 3], "rate": 2}),
    ]
    seen: list[Any] = []
    for name, args in plan:
        try:
            result = registry.run(name, args)
        except carboy.ToolError as error:
            seen.append(str(error))
        else:
            seen.append(result.value if result.ok else result.error)
    assert seen[:4] == [
        "sandbox: timeout",
        "sandbox: memory",
        "sandbox: processes",
        "sandbox: denied",
    ]
    assert "KeyError" in seen[4] and "nothing there" in seen[4]
    assert seen[5].startswith("there is no tool 'forget_all_rules'")
    assert "TypeError" in seen[6] and "price" in seen[6]
    assert seen[7] == 12


def test_a_result_says_how_it_went() -> None:
    result = run_under_sandbox(total, {"prices": [1, 2]})
    assert isinstance(result, ToolResult)
    assert (result.ok, result.value, result.error) == (True, 3, None)
    assert result.outcome is not None and result.outcome.ok
    assert result.outcome.isolation.tier == "process"
    assert run_under_sandbox(total, [[1, 2], 3]).value == 9


def test_a_declared_tool_cannot_be_called_past_its_sandbox() -> None:
    pid = SandboxedTool(where, JAR)
    assert pid() == 1 and run_under_sandbox(pid, {}).value == 1
    assert total([1, 2], rate=2) == 6
    with pytest.raises(carboy.ToolError) as raised:
        spin()
    assert str(raised.value) == "sandbox: timeout"
    with pytest.raises(carboy.ToolError, match="KeyError"):
        SandboxedTool(fail, JAR)()
    assert (total.name, total.__doc__) == ("total", "The sum of prices.")
    assert str(inspect.signature(total)).startswith("(prices: ")


def test_attributes_of_a_function_do_not_change_its_policy() -> None:
    def odd() -> int:
        import os

        return os.getpid()

    odd.policy, odd._source, odd.name = HERE, None, "x"  # type: ignore[attr-defined]
    tool = SandboxedTool(odd, JAR)
    assert tool.policy is JAR and tool() == 1


def test_the_end_by_the_sandbox_has_a_cause_and_an_outcome() -> None:
    with pytest.raises(carboy.ToolError) as raised:
        run_under_sandbox(spin, {})
    error: Any = raised.value
    assert str(error) == "sandbox: timeout" and error.cause == "timeout"
    assert error.outcome.error.limit == carboy.LimitHit("wall_ms", 300)
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is type(error) and str(copied) == "sandbox: timeout"


def source(body: str) -> ToolSource:
    return ToolSource(f"import os, time\ndef tool():\n    {body}\n", "tool")


@pytest.mark.parametrize(
    ("body", "limits", "text"),
    [
        ("time.sleep(9)", {"wall_ms": 200}, "sandbox: timeout"),
        ("bytearray(10 ** 9)", {}, "sandbox: memory"),
        ("os.fork()", {}, "sandbox: processes"),
        (
            "import _thread as t; [t.start_new_thread(time.sleep, (1,)) for _ in 'abc']",
            {"threads": 1},
            "sandbox: threads",
        ),
        ("open('f', 'wb').write(bytes(2 << 20))", {"file_bytes": 1 << 20}, "sandbox: files"),
        ("[open(f'{n}', 'w').close() for n in range(99)]", {"files": 9}, "sandbox: files"),
        ("for n in range(20): print('x' * 10 ** 6)", {}, "sandbox: output"),
        ("return object()", {}, "sandbox: result"),
        ("return 'x' * (2 << 20)", {}, "sandbox: result"),
        ("import socket; socket.socket()", {}, "sandbox: denied"),
        ("os._exit(3)", {}, "sandbox: crash"),
        ("import ctypes; ctypes.string_at(0)", {}, "sandbox: crash"),
    ],
)
def test_every_cause_has_its_word(body: str, limits: dict[str, Any], text: str) -> None:
    with pytest.raises(carboy.ToolError) as raised:
        run_under_sandbox(source(body), {}, JAR, limits=carboy.Limits(**limits))
    assert str(raised.value) == text


def test_a_text_can_be_a_tool() -> None:
    tool = ToolSource("FACTOR = 3\ndef triple(x):\n    return x * FACTOR  # fin", "triple")
    assert run_under_sandbox(tool, {"x": 4}, JAR).value == 12
    registry = ToolRegistry()
    registry.register(tool, policy=JAR, name="times_three")
    assert registry.names == ["times_three"]
    assert registry.run("times_three", [5]).value == 15


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def tool(:", "SyntaxError"),
        ("def other(): pass", "NameError"),
        ("def tool():\n    import sys; sys.exit()", "left before it returned"),
        ("def tool():\n    import sys; sys.exit(3)", "SystemExit"),
        ("'''", "SyntaxError"),
        ("\ud800", "surrogate"),
        ("#" * 5_000_000, "bytes"),
    ],
)
def test_a_text_that_does_not_run_is_a_result_that_is_not_ok(text: str, words: str) -> None:
    result = run_under_sandbox(ToolSource(text, "tool"), {}, JAR)
    assert not result.ok and result.value is None and words in str(result.error)


def test_a_text_is_never_run_without_a_sandbox() -> None:
    with pytest.raises(carboy.RequestError, match="never run without a sandbox"):
        run_under_sandbox(ToolSource("def tool(): return 1", "tool"), {}, HERE)


@pytest.mark.parametrize("name", ["", "a b", "f()", "class", "x; y", 3])
def test_the_name_in_a_text_must_be_a_name(name: Any) -> None:
    with pytest.raises(carboy.RequestError, match="name"):
        ToolSource("def tool(): return 1", name)


def test_permissive_runs_in_this_process() -> None:
    assert "NO SANDBOX" in str(SandboxPolicy.__doc__)
    assert run_under_sandbox(where, {}, HERE) == ToolResult(True, os.getpid())
    assert run_under_sandbox(lambda n: {n}, {"n": 1}, HERE).value == {1}
    failed = run_under_sandbox(fail, {}, HERE)
    assert not failed.ok and failed.error == "KeyError: 'nothing there'" and failed.outcome is None


def test_container_is_not_built_yet() -> None:
    tool = SandboxedTool(where, SandboxPolicy.CONTAINER)
    for call in (lambda: run_under_sandbox(tool, {}), tool):
        with pytest.raises(NotBuiltError, match="not built yet") as raised:
            call()
        assert isinstance(raised.value, carboy.CarboyError)
        assert isinstance(raised.value, NotImplementedError)


def test_a_policy_can_be_made_stronger_and_never_weaker() -> None:
    trusted = SandboxedTool(where, HERE)
    assert trusted() == os.getpid()
    assert run_under_sandbox(trusted, {}, JAR).value == 1
    with pytest.raises(carboy.RequestError, match="PERMISSIVE is weaker"):
        run_under_sandbox(total, {"prices": []}, HERE)
    with pytest.raises(carboy.RequestError, match="without a policy"):
        run_under_sandbox(where, {})


SCALE = 2


def uses_a_constant(x: int) -> int:
    return x * SCALE


def uses_a_module(x: float) -> float:
    return math.sqrt(x)


def uses_a_default(x: int = SCALE) -> int:
    return x


def uses_one_deep_inside(x: int) -> list[int]:
    class Inner:
        scale = SCALE

    return [x for x in range(Inner.scale)]


def wrapper(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any) -> Any:
        return function(*args)

    return inner


@wrapper
def wrapped() -> int:
    return 1


class Holder:
    def method(self) -> int:
        return 1

    @staticmethod
    def static() -> int:
        return 1

    def __call__(self) -> int:
        return 1


async def later() -> int:
    return 1


def around(secret: str) -> Callable[[], str]:
    def inner() -> str:
        return secret

    return inner


def without_source() -> Callable[[], int]:
    space: dict[str, Any] = {}
    exec("def made(): return 1", space)
    made: Callable[[], int] = space["made"]
    return made


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        (lambda: 1, "lambda"),
        (Holder().method, "method"),
        (Holder.method, "class"),
        (Holder.static, "class"),
        (Holder(), "Holder"),
        (Holder, "not a def"),
        (len, "builtin"),
        (functools.partial(where), "partial"),
        (without_source(), "source is not available"),
        (wrapped, "another decorator"),
        (around("x"), "secret"),
        (later, "async"),
        (uses_a_constant, "SCALE"),
        (uses_a_default, "SCALE"),
        (uses_one_deep_inside, "SCALE"),
        (uses_a_module, "math"),
        (3, "function"),
    ],
)
def test_what_cannot_be_taken_is_refused_when_it_is_declared(tool: Any, words: str) -> None:
    with pytest.raises(carboy.RequestError) as raised:
        sandboxed(JAR)(tool)
    assert words in str(raised.value)


class Unknown:
    pass


counter: int


def test_a_function_that_says_everything_itself_is_taken_as_it_stands() -> None:
    @sandboxed(
        JAR,
        limits=SHORT,
    )
    def everything(rows: list[Unknown], *more: Unknown, flag: bool = False) -> dict[str, Any]:
        """Annotations may name what the jar does not have."""
        import json
        from collections import Counter

        found: Unknown | None = None
        text = """
  kept as it is
"""

        class Inner:
            size: Unknown = 3  # type: ignore[assignment]
            double = size

        def inner(seen: Unknown) -> int:
            global counter
            counter = len([row for row in rows if row]) + max(n for n in (1, 2))
            return counter

        return {
            "count": dict(Counter(json.dumps(row) for row in rows)),
            "inner": inner(found) + counter,  # type: ignore[arg-type]
            "text": text,
            "more": len(more) + Inner.double,  # type: ignore[operator]
            "flag": flag,
            "main": __name__,
        }

    assert everything([1, 1, 0], "a", flag=True) == {
        "count": {"1": 2, "0": 1},
        "inner": 8,
        "text": "\n  kept as it is\n",
        "more": 4,
        "flag": True,
        "main": "__main__",
    }


@sandboxed(JAR)
def factorial(n: int) -> int:
    return 1 if n < 2 else n * factorial(n - 1)


def test_a_tool_may_call_itself() -> None:
    assert run_under_sandbox(factorial, {"n": 5}).value == 120


def test_arguments_that_are_not_json_are_the_callers_mistake() -> None:
    with pytest.raises(carboy.RequestError, match="set"):
        run_under_sandbox(total, {"prices": {1, 2}})
    with pytest.raises(carboy.RequestError, match="mapping or a list"):
        run_under_sandbox(total, "prices")


def test_wrong_declarations_are_the_callers_mistake() -> None:
    wrong: list[Callable[[], object]] = [
        lambda: SandboxedTool(where, "subprocess"),  # type: ignore[arg-type]
        lambda: run_under_sandbox(where, {}, "permissive"),  # type: ignore[arg-type]
        lambda: SandboxedTool(where, HERE, limits=SHORT),
        lambda: SandboxedTool(where, JAR, limits={"wall_ms": 1}),  # type: ignore[arg-type]
        lambda: ToolRegistry().register(where),
        lambda: ToolRegistry().register(total, policy=JAR),
    ]
    for declare in wrong:
        with pytest.raises(carboy.RequestError):
            declare()
    registry = ToolRegistry()
    registry.register(total)
    with pytest.raises(carboy.RequestError, match="two tools"):
        registry.register(total)
