"""Mods of a game: what a script's author and the game's host are promised."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import carboy
from carboy.contracts import HookError, run_mod_hook


def hook(script: str, timeout_seconds: float = 5.0) -> dict[str, Any] | None:
    return run_mod_hook(script, {"gold": 5, "units": ["a"]}, {"bonus": 2}, timeout_seconds)


def test_a_script_sees_state_and_config_and_writes_its_output() -> None:
    script = """
import math
gold = game_state["gold"] * mod_config["bonus"]
result["output"] = {"gold": gold, "root": math.isqrt(gold)}
"""
    assert hook(script) == {"gold": 10, "root": 3}


@pytest.mark.parametrize(
    "script", ["", "x = 1", "game_state['gold']", "result['other'] = 1", "result['output'] = None"]
)
def test_nothing_written_is_none(script: str) -> None:
    assert hook(script) is None


def test_an_empty_output_is_an_output() -> None:
    assert hook("result['output'] = {}") == {}


def test_the_hosts_own_state_stays_as_it_is() -> None:
    state: dict[str, Any] = {"units": ["a"]}
    script = "game_state['units'].append('b')\nresult['output'] = game_state"
    assert run_mod_hook(script, state, {}) == {"units": ["a", "b"]}
    assert state == {"units": ["a"]}


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("result['output'] = [1]", 'result["output"] must be a dict, was list'),
        ("result['output'] = 'text'", 'result["output"] must be a dict, was str'),
        ("result['output'] = 0", 'result["output"] must be a dict, was int'),
        ("result = 5", "`result` must stay a dict, was int"),
    ],
)
def test_an_output_that_is_no_dict_is_an_error_of_the_run(script: str, words: str) -> None:
    assert hook(script) == {"status": "error", "error": words}


def test_all_violations_are_named_with_line_rule_and_what_to_write_instead() -> None:
    script = """import os
x = 1
y = x.__class__
exec("x = 2")
"""
    with pytest.raises(ValueError) as raised:
        hook(script)
    text = str(raised.value)
    assert text.splitlines()[0] == "the script was refused: 3 violations"
    for line, rule in [
        (1, "import-not-granted"),
        (3, "dunder-attribute"),
        (4, "blocked-builtin"),
    ]:
        found = [one for one in text.splitlines() if f"line {line}, {rule}: " in one]
        assert len(found) == 1 and "write instead: " in found[0]
    assert isinstance(raised.value, HookError)
    first = raised.value.violations[0]
    assert (first.line, first.rule) == (1, "import-not-granted")
    assert "`os`" in first.message and "math" in first.instead
    copied = pickle.loads(pickle.dumps(raised.value))
    assert type(copied) is HookError and str(copied) == text


@pytest.mark.parametrize(
    ("script", "line"),
    [("x = 1\ny = (", 2), ("x = 1\n  y = 2", 2), ("\nreturn 5", 2), ("def f():\n  nonlocal x", 2)],
)
def test_what_is_not_python_is_a_value_error_with_its_line(script: str, line: int) -> None:
    with pytest.raises(ValueError, match=f"line {line}, syntax: ") as raised:
        hook(script)
    assert isinstance(raised.value, HookError)


def test_a_refusal_in_the_run_is_a_guard_error_too() -> None:
    with pytest.raises(ValueError, match="line 2, dunder-attribute: .*write instead: "):
        hook("name = '__cla' + str('ss__')\ngetattr(1, name)")


def test_violations_beyond_count_do_not_flood_the_host() -> None:
    with pytest.raises(ValueError) as raised:
        hook("import os\n" * 2_000)
    assert len(str(raised.value)) < 50_000


@pytest.mark.parametrize("script", ["\ud800", "#" * 100_000, "#" * 5_000_000, "\0"])
def test_texts_that_are_no_program_are_value_errors(script: str) -> None:
    with pytest.raises(ValueError):
        hook(script)


def test_the_limit_on_the_clock_is_a_timeout_error() -> None:
    with pytest.raises(TimeoutError, match="200 ms") as raised:
        hook("while True: pass", timeout_seconds=0.2)
    assert isinstance(raised.value, carboy.TimeLimitError)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("x = 1\nx / 0", "ZeroDivisionError at line 2: division by zero"),
        ("game_state['none']", "KeyError at line 1"),
        ("raise ValueError('mine')", "ValueError at line 1: mine"),
        ("raise SyntaxError('mine')", "SyntaxError at line 1: mine"),
        ("raise TimeoutError('mine')", "TimeoutError at line 1: mine"),
        ("x = [0] * 10 ** 9", "limit memory_bytes"),
        ("result['output'] = {'a': {1, 2}}", "not JSON"),
        ("for n in range(20): print('x' * 10 ** 6)", "limit printed_bytes"),
    ],
)
def test_runtime_errors_are_returned(script: str, words: str) -> None:
    answer = hook(script)
    assert answer is not None and set(answer) == {"status", "error"}
    assert answer["status"] == "error" and words in answer["error"]


def test_what_a_script_says_in_an_error_is_made_harmless() -> None:
    answer = hook("raise ValueError('\\x1b[31m\\n' * 10000)")
    assert answer is not None
    assert "\x1b" not in answer["error"] and "\n" not in answer["error"]
    assert len(answer["error"]) < 1_000


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), "5", True, None])
def test_a_wrong_timeout_is_the_callers_mistake(timeout: Any) -> None:
    with pytest.raises(carboy.RequestError, match="timeout_seconds"):
        hook("", timeout)


def test_a_state_that_is_not_json_is_the_callers_mistake() -> None:
    with pytest.raises(carboy.RequestError, match="game_state"):
        run_mod_hook("", {"a": object()}, {})
