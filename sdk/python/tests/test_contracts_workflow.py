"""Nodes of a workflow: settings hold or are refused, and both ways to fail have the same words."""

from __future__ import annotations

import importlib.util
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

import carboy
from carboy.contracts import GlobalConfig, NodeConfig, NodeError, NotBuiltError, run_node

CONTINUE = {"on_error": "continue"}


def test_a_node_answers() -> None:
    assert run_node("result = a + b", {"a": 1, "b": 2}, {}, {}) == {"error": None, "output": 3}
    assert run_node("sum(rows)", {"rows": [1, 2]}) == {"error": None, "output": 3}
    whole = {
        "enabled": True,
        "mode": "process",
        "preset": "low",
        "timeout": 5,
        "network_isolated": True,
        "on_error": "fail",
    }
    assert run_node("1", {}, {"id": "n1", "sandbox": whole}, {"sandbox": {}})["output"] == 1


@pytest.mark.parametrize(
    ("code", "beginning", "words"),
    [
        ("x = (", "Syntax error: line 1", ""),
        ("\nreturn 3", "Syntax error: line 2", "'return' outside function"),
        ("\ud800", "Syntax error: ", "surrogate"),
        ("#" * 5_000_000, "Syntax error: ", "bytes"),
        ("import ctypes\nimport pty", "Security violation: line 1, import-not-granted", "line 2"),
        ("getattr(1, '__cla' + str('ss__'))", "Security violation: line 1, dunder-attribute", ""),
        ("while True: pass", "Timeout: ", "300 ms"),
        ("1 / 0", "Runtime error: ZeroDivisionError at line 1", "division by zero"),
        ("raise SyntaxError('mine')", "Runtime error: SyntaxError at line 1", "mine"),
        ("x = bytearray(10 ** 9)", "Limit exceeded: limit memory_bytes", ""),
        ("result = object()", "Invalid output: ", "not JSON"),
    ],
)
def test_an_error_has_the_same_words_under_continue_and_under_fail(
    code: str, beginning: str, words: str
) -> None:
    answer = run_node(code, {}, {"on_error": "continue", "timeout": 0.3}, {})
    assert set(answer) == {"error", "output"} and answer["output"] is None
    assert answer["error"].startswith(beginning) and words in answer["error"]
    with pytest.raises(carboy.CarboyError) as raised:
        run_node(code, {}, {"on_error": "fail", "timeout": 0.3}, {})
    assert str(raised.value) in answer["error"]


@pytest.mark.parametrize(
    ("code", "beginning"),
    [
        ("import socket\nsocket.socket()", "Security violation: "),
        ("import os\nos._exit(3)", "Crash: "),
        ("import subprocess\nsubprocess.run(['ls'])", "Security violation: PermissionError"),
        ("\0", "Syntax error: "),
    ],
)
def test_the_walls_hold_where_the_profile_grants_all(code: str, beginning: str) -> None:
    answer = run_node(code, {}, CONTINUE, {"profile": "open"})
    assert answer["error"].startswith(beginning) and answer["output"] is None


def test_what_is_raised_tells_the_whole_story() -> None:
    with pytest.raises(NodeError) as raised:
        run_node("while True: pass", {}, {"timeout": 0.2})
    assert isinstance(raised.value, carboy.RunError)
    assert isinstance(raised.value.__cause__, TimeoutError)
    assert raised.value.outcome.error is not None
    copied = pickle.loads(pickle.dumps(raised.value))
    assert type(copied) is NodeError and str(copied) == str(raised.value)


def test_a_guests_text_is_bounded_and_harmless() -> None:
    answer = run_node("raise ValueError('\\x1b[31m\\n' * 10000)", {}, CONTINUE)
    assert len(answer["error"]) < 1_000 and "\x1b" not in answer["error"]


@pytest.mark.parametrize(
    ("node", "key"),
    [
        ({"enabld": True}, "enabld"),
        ({"enabled": "yes"}, "enabled"),
        ({"enabled": None}, "enabled"),
        ({"enabled": 1}, "enabled"),
        ({"mode": "docker"}, "mode"),
        ({"mode": 3}, "mode"),
        ({"preset": "huge"}, "preset"),
        ({"preset": ["low"]}, "preset"),
        ({"timeout": "5"}, "timeout"),
        ({"timeout": 0}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": 121}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"network_isolated": "no"}, "network_isolated"),
        ({"on_error": "ignore"}, "on_error"),
        ({"on_error": False}, "on_error"),
        ({3: 4}, "3"),
        ({"sandbox": None}, "sandbox"),
        ({"sandbox": True}, "sandbox"),
        ({"sandbox": {"enabld": True}}, "enabld"),
        ({"sandbox": {}, "timeout": 3}, "timeout"),
        ([], "mapping"),
        (3, "mapping"),
    ],
)
def test_wrong_settings_of_a_node_are_named(node: Any, key: str) -> None:
    with pytest.raises(carboy.RequestError, match=key):
        run_node("1", {}, node, {"default_on_error": "continue"})


@pytest.mark.parametrize(
    ("everywhere", "key"),
    [
        ({"default_presett": "low"}, "default_presett"),
        ({"default_mode": "vm"}, "default_mode"),
        ({"default_mode": None}, "default_mode"),
        ({"default_preset": 1}, "default_preset"),
        ({"default_timeout": -1}, "default_timeout"),
        ({"default_timeout": 500}, "default_timeout"),
        ({"max_timeout": "long"}, "max_timeout"),
        ({"default_on_error": "stop"}, "default_on_error"),
        ({"profile": "none"}, "profile"),
        ({"allow_imports": "os"}, "allow_imports"),
        ({"allow_imports": [1]}, "allow_imports"),
        ({"allow_imports": ["a b"]}, "allow_imports"),
        ({"allow_imports": ["os"], "profile": "open"}, "allow_imports"),
        ({"allow_unsandboxed": True}, "allow_unsandboxed"),
    ],
)
def test_wrong_global_settings_are_named(everywhere: Any, key: str) -> None:
    with pytest.raises(carboy.RequestError, match=key):
        run_node("1", {}, CONTINUE, everywhere)


def test_what_cannot_be_kept_is_refused_and_not_ignored() -> None:
    with pytest.raises(carboy.RequestError, match="network_isolated: false is not supported"):
        run_node("1", {}, {"network_isolated": False, **CONTINUE})
    with pytest.raises(carboy.RequestError, match="enabled: false is refused"):
        run_node("1", {}, {"enabled": False, **CONTINUE})
    for mode in ("wasm", "container"):
        with pytest.raises(NotBuiltError, match=f"mode: {mode} is not built yet"):
            run_node("1", {}, {"mode": mode, **CONTINUE})
        with pytest.raises(NotBuiltError, match="not built yet"):
            run_node("1", {}, {}, {"default_mode": mode})
        assert run_node("1", {}, {"mode": "process"}, {"default_mode": mode})["output"] == 1


def test_wrong_inputs_are_raised_whatever_the_node_does_on_errors() -> None:
    with pytest.raises(carboy.RequestError, match="not JSON"):
        run_node("1", {"a": object()}, CONTINUE)
    with pytest.raises(carboy.RequestError, match="str"):
        run_node(b"1", {}, CONTINUE)  # type: ignore[arg-type]


def test_a_node_says_what_holds_and_the_global_settings_say_the_rest() -> None:
    sleep = "import time\ntime.sleep(9)"
    everywhere = {"default_timeout": 0.2, "default_on_error": "continue"}
    assert "200 ms" in run_node(sleep, {}, {}, everywhere)["error"]
    assert "100 ms" in run_node(sleep, {}, {"timeout": 0.1}, everywhere)["error"]
    with pytest.raises(NodeError, match="Timeout: .*200 ms"):
        run_node(sleep, {}, {"on_error": "fail"}, everywhere)
    large = "result = len(bytearray(400 << 20))"
    assert run_node(large, {}, CONTINUE)["output"] is None
    assert run_node(large, {}, {"preset": "medium"})["output"] == 400 << 20
    assert run_node(large, {}, {}, {"default_preset": "medium"})["output"] == 400 << 20


def test_a_timeout_stands_in_place_of_the_presets_and_below_the_most() -> None:
    policy = GlobalConfig().policy_for(NodeConfig(preset="low", timeout=100))
    assert policy["limits"]["wall_ms"] == 100_000
    with pytest.raises(carboy.RequestError, match="at most 50 seconds"):
        GlobalConfig(max_timeout=50).policy_for(NodeConfig(timeout=100))


def test_imports_beyond_the_profile_are_granted_by_name() -> None:
    code = "import ctypes\nresult = ctypes.sizeof(ctypes.c_int)"
    assert run_node(code, {}, CONTINUE)["error"].startswith("Security violation: ")
    assert run_node(code, {}, {}, {"allow_imports": ["ctypes"]})["output"] == 4
    assert run_node(code, {}, {}, {"profile": "open"})["output"] == 4
    assert run_node("open('f')", {}, CONTINUE, {"profile": "hook"})["error"].startswith("Security")


def test_settings_from_json_files(tmp_path: Path) -> None:
    node, everywhere = tmp_path / "node.json", tmp_path / "all.json"
    node.write_text(json.dumps({"id": 7, "sandbox": {"timeout": 0.1}}))
    everywhere.write_text(json.dumps({"default_on_error": "continue"}))
    assert "100 ms" in run_node("while True: pass", {}, node, str(everywhere))["error"]
    loaded = NodeConfig.load(node)
    assert loaded == NodeConfig(timeout=0.1) and NodeConfig.load(loaded) is loaded
    assert run_node("1", {}, loaded, GlobalConfig.load(everywhere))["output"] == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", "{"),
        ("a.json", "[]"),
        ("a.json", ""),
        ("a.json", '{"timeout": 1, "timeout": 2}'),
        ("a.json", "[" * 100_000),
        ("a.json", " " * (2 << 20)),
        ("a.toml", "timeout = 1"),
        ("missing/a.json", None),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path: Path, name: str, text: str | None) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(carboy.RequestError):
        run_node("1", {}, path)


def test_yaml_without_pyyaml_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    path = tmp_path / "node.yaml"
    path.write_text("timeout: 1")
    with pytest.raises(carboy.RequestError, match=r"pip install carboy\[yaml\]"):
        run_node("1", {}, path)


needs_yaml = pytest.mark.skipif(
    importlib.util.find_spec("yaml") is None, reason="PyYAML is not installed"
)


@needs_yaml
def test_settings_from_yaml_files(tmp_path: Path) -> None:
    node = tmp_path / "node.yaml"
    node.write_text("base: &base {timeout: 0.1}\nsandbox:\n  <<: *base\n  on_error: continue\n")
    assert "100 ms" in run_node("while True: pass", {}, node)["error"]
    everywhere = tmp_path / "all.yml"
    everywhere.write_text("default_preset: medium\nallow_imports: [os]\nmax_timeout: 60\n")
    assert GlobalConfig.load(everywhere).allow_imports == ["os"]


@needs_yaml
@pytest.mark.parametrize(
    "text",
    [
        "timeout: 1\ntimeout: 2",
        "sandbox: {timeout: 1, timeout: 2}",
        "timeout: !!python/object/apply:os.getpid []",
        "timeout: [",
        "- a",
        "",
        "? {a: b}\n: c",
        "enabled: 'false'",
    ],
)
def test_yaml_that_cannot_be_used_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "node.yaml"
    path.write_text(text)
    with pytest.raises(carboy.RequestError):
        run_node("1", {}, path)
