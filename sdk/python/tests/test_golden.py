"""The messages are those that the engine reads and writes."""

from __future__ import annotations

import base64
import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import carboy
from carboy._answers import fault_answer, value_answer
from carboy._binary import find_binary
from carboy._limits import DEFAULT_LIMITS, PRESETS, UNITS, WORDS, Limits, LimitsByName
from carboy._messages import PIPE_VERSION, address, decoded, failure_of
from carboy._request import Settings


def message(golden: Path, name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((golden / "pipe" / f"{name}.json").read_text())
    return value


def line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


WRITTEN_BY_ENGINE = {
    "ready": ("ready", None),
    "preloaded": ("preloaded", None),
    "preloaded_late": ("preloaded", None),
    "output": ("output", 1),
    "call": ("call", 1),
    "outcome": ("outcome", 1),
    "outcome_ok": ("outcome", 1),
    "outcome_crash": ("outcome", 1),
    "outcome_converted": ("outcome", 2),
    "failed": ("failed", 1),
    "failed_without_id": ("failed", None),
    "outcome_restored": ("outcome", 1),
    "session_done": ("session", 1),
    "session_variables": ("session", 3),
    "session_checkpoints": ("session", 3),
}
WRITTEN_BY_US = {
    *("run", "run_least", "cancel", "answer", "answer_null", "answer_error", "piece"),
    *("session_open", "session_branch", "session_checkpoint", "session_rollback", "session_drop"),
    *("session_ask_variables", "session_ask_checkpoints", "session_close"),
}


def test_every_golden_message_is_known(golden: Path) -> None:
    names = {path.stem for path in (golden / "pipe").glob("*.json")}
    assert names == set(WRITTEN_BY_ENGINE) | WRITTEN_BY_US


@pytest.mark.parametrize("name", WRITTEN_BY_ENGINE)
def test_what_the_engine_writes_is_read(golden: Path, name: str) -> None:
    text = message(golden, name)
    kind, number = WRITTEN_BY_ENGINE[name]
    assert address(line(text)) == (kind, number)
    # The order of the fields and spaces between them do not matter.
    assert address(json.dumps(text, sort_keys=True).encode()) == (kind, number)
    assert decoded(line(text)) == (kind, text[kind])


def test_ready_names_the_version_that_is_spoken_here(golden: Path) -> None:
    assert message(golden, "ready")["ready"]["pipe"] == PIPE_VERSION


def test_an_outcome_has_every_field(golden: Path) -> None:
    body = message(golden, "outcome")["outcome"]["outcome"]
    outcome = carboy.Outcome.from_dict(body)
    assert outcome.to_dict() == body
    assert (outcome.id, outcome.status, outcome.ok) == (body["id"], "error", False)
    error = outcome.error
    assert error == carboy.Error(
        kind="limit",
        type="LimitExceeded",
        message="the run took longer than 2000 ms",
        limit=carboy.LimitHit("wall_ms", 2000),
        hint="do less in one run",
        operator_hint="raise limits.wall_ms, which is 2 s",
    )
    assert (outcome.stdout, outcome.stderr, outcome.stdout_truncated) == ("hi\n", "", False)
    assert [(denial.layer, denial.count, denial.line) for denial in outcome.denials] == [
        ("seccomp", 3, None),
        ("guard", 1, 2),
    ]
    assert outcome.denials[1] == carboy.Denial(
        layer="guard",
        what="import-not-granted",
        count=1,
        line=2,
        hint="the module `os` is not granted; write instead: use pathlib",
        message="the module `os` is not granted",
        instead="use pathlib",
    )
    assert outcome.tool_calls[1] == carboy.ToolCall("search", "unanswered", 12.25)
    assert outcome.usage == carboy.Usage(0.5, 2000.25, 12.5, 13651968)
    assert (outcome.isolation.walls, outcome.isolation.layers["landlock_abi"]) == ("full", 7)
    sha256 = outcome.artifacts["out/plot.png"].sha256
    assert sha256 is not None and len(sha256) == 64
    assert outcome.artifacts == [carboy.Artifact("out/plot.png", 1024, sha256, "image/png")]
    assert outcome.artifacts_left_out == [
        carboy.LeftOut("link", 2, ["out/passwd", "out/shadow"], "symbolic links are not followed")
    ]
    with pytest.raises(carboy.TimeLimitError) as raised:
        outcome.raise_for_error()
    assert isinstance(raised.value, TimeoutError) and raised.value.outcome is outcome


def test_what_a_good_run_was_refused_are_probes(golden: Path) -> None:
    body = message(golden, "outcome_ok")["outcome"]["outcome"]
    outcome = carboy.Outcome.from_dict(body)
    assert (outcome.ok, outcome.denials) == (True, [])
    assert [(probe.what, probe.count) for probe in outcome.probes] == [("fork", 2)]
    assert "fork" not in outcome.explain() + repr(outcome)
    assert carboy.Outcome.from_dict({**body, "probes": []}).probes == []


def test_a_crash_says_how_the_process_ended(golden: Path) -> None:
    body = message(golden, "outcome_crash")["outcome"]["outcome"]
    error = carboy.Outcome.from_dict(body).error
    assert error is not None and error.exit == carboy.Exit(signal=11)


def test_a_converted_result_says_what_it_was(golden: Path) -> None:
    body = message(golden, "outcome_converted")["outcome"]["outcome"]
    outcome = carboy.Outcome.from_dict(body)
    assert outcome.ok and outcome.result == [{"a": 1}]
    assert outcome.result_type == "pandas.core.frame.DataFrame"
    assert outcome.result_text == "   a\n0  1"
    assert outcome.result_note is not None and "5000 rows" in outcome.result_note
    assert (outcome.stdout_omitted, outcome.stderr_omitted) == (90, 0)
    assert [one.media_type for one in outcome.displays] == [
        "image/png",
        "text/html",
        "application/vnd.plotly.v1+json",
    ]
    assert outcome.display_note == "1 more displays are left out: 3 are allowed"
    plain = carboy.Outcome.from_dict(message(golden, "outcome")["outcome"]["outcome"])
    assert (plain.displays, plain.display_note) == ([], None)
    assert (plain.result_type, plain.result_text, plain.result_note) == (None, None, None)


def test_a_preloaded_module_has_every_field(golden: Path) -> None:
    bodies = [message(golden, name)["preloaded"] for name in ("preloaded", "preloaded_late")]
    assert [carboy.Preloaded(**body) for body in bodies] == [
        carboy.Preloaded("pandas", 1, 2, took_ms=412.5),
        carboy.Preloaded("polars", 2, 2, late="it starts a thread"),
    ]


def test_a_failure_is_raised_as_whose_it_is(golden: Path) -> None:
    busy = failure_of(message(golden, "failed")["failed"]["failure"])
    assert type(busy) is carboy.BusyError
    assert str(busy) == "too much is running\nhint: try again in 40 ms"
    ours = failure_of(message(golden, "failed_without_id")["failed"]["failure"])
    assert type(ours) is carboy.EngineError
    assert ours.causes == ("user namespace: clone3(CLONE_NEWUSER): EPERM",)
    # Nobody's fault: it was interrupted before it began.
    assert type(failure_of({"kind": "cancelled", "message": ""})) is carboy.NotStartedError


def test_a_run_is_written_as_in_the_golden_message(golden: Path) -> None:
    async def search(query: str, most: int = 10) -> list[str]:
        "Search the catalogue."
        return []

    expected = message(golden, "run")["run"]
    # These two are not for a caller of this package.
    del expected["tenant"], expected["deadline_ms"]
    policy = carboy.Policy(
        limits=carboy.Limits(wall_ms=2000),
        language=carboy.Language(profile="agent", imports=["mypackage"]),
        strict=True,
    )
    settings = Settings(None, (), [carboy.Tool(search, budget=0.25)], policy, "return")
    files = {
        "raw/b.bin": b"\0\xff",
        "sales.csv": "/srv/exports/2026-11.csv",
        "words.txt": b"one\ntwo\n",
    }
    mounts = {"/data": "/srv/data"}
    inputs = {"n": [1, 2, 3]}
    lines = carboy.FrameFile("/srv/lines.txt", "polars.LazyFrame", "jsonl")
    request = settings.request(
        "result = sum(n)", inputs, None, (), None, True, files, mounts, {"lines": lines}
    )
    # A path is text here, so a text is handed in as its bytes.
    text = expected["job"]["files"]["words.txt"].pop("text")
    expected["job"]["files"]["words.txt"]["base64"] = base64.b64encode(text.encode()).decode()
    assert json.loads(b'{"id":1,' + request.body[:-2]) == expected


def test_the_least_run_is_least(golden: Path) -> None:
    expected = message(golden, "run_least")["run"]
    least = Settings(None, (), (), None, "return", artifacts="list")
    request = least.request("", None, None, (), None, False)
    assert json.loads(b'{"id":%d,' % expected["id"] + request.body[:-2]) == expected


def test_answers_are_written_as_in_the_golden_messages(golden: Path) -> None:
    given = {
        "answer": value_answer(1, 3, "search", ("a lamp", None)),
        "answer_null": value_answer(1, 3, "search", None),
        "answer_error": fault_answer(1, 3, "arguments", "search: `query` must be str, not int"),
    }
    for name, written in given.items():
        assert json.loads(written) == message(golden, name), name


def test_presets_are_those_of_the_engine(golden: Path) -> None:
    assert json.loads((golden / "presets.json").read_text()) == PRESETS
    for name, limits in PRESETS.items():
        assert explained("--preset", name)["limits"].items() >= limits.items()


def test_every_limit_has_a_type_a_keyword_a_unit_and_words() -> None:
    names = list(DEFAULT_LIMITS)
    assert [field.name for field in dataclasses.fields(Limits)] == names
    assert list(UNITS) == list(WORDS) == list(LimitsByName.__annotations__) == names
    for field in dataclasses.fields(Limits):
        assert field.type == ("int | str | None" if UNITS[field.name] == "bytes" else "int | None")
        assert WORDS[field.name].count("{}") == 1
    assert LimitsByName.__total__ is False
    assert {name for limits in PRESETS.values() for name in limits} <= set(names)


def test_defaults_are_those_of_the_engine() -> None:
    assert explained()["limits"] == DEFAULT_LIMITS


def explained(*options: str) -> dict[str, Any]:
    command = [find_binary(), "explain", "--json", "--python", sys.executable, *options]
    plan: dict[str, Any] = json.loads(subprocess.check_output(command))
    policy: dict[str, Any] = plan["policy"]
    return policy
