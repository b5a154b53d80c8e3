"""Frames that a run is given, as far as no library is needed. `tests/frames.py` has the rest."""

from __future__ import annotations

import asyncio
import os
import pathlib
import tempfile
from typing import Any

import pytest

import carboy
from carboy import _packages, _prompt

CSV = "region,sum\nnorth,3\nsouth,4\n"
JSONL = '{"region": "north", "sum": 3}\n{"region": "south", "sum": 4}\n'
CODE = "result = [row['region'] for row in sales]"


@pytest.fixture
def data(tmp_path: pathlib.Path) -> pathlib.Path:
    """A directory that the engine's jars can read, whoever they run as."""
    (tmp_path / "sales.csv").write_text(CSV)
    (tmp_path / "sales.txt").write_text(JSONL)
    return tmp_path


def test_a_file_is_a_variable(data: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data)
    bare = carboy.run(CODE, frames={"sales": "sales.csv"})
    if bare.result is None:
        pytest.skip(f"this interpreter has a library for frames: {bare.error}")
    assert bare.result == ["north", "south"], bare
    named = {"sales": carboy.FrameFile(data / "sales.txt", format="jsonl")}
    with carboy.Sandbox() as box:
        assert box.run(CODE, frames=named).result == ["north", "south"]
        # What the code does not name is not read.
        more = {**named, "broken": data / "sales.csv"}
        more["broken"] = carboy.FrameFile(data / "sales.csv", format="jsonl")
        assert box.run(CODE, frames=more).result == ["north", "south"]
        out = box.run("broken", frames=more)
        assert out.error is not None and "'broken' cannot be read as JSONL" in out.error.message
        with box.stream(CODE, frames=named) as stream:
            assert list(stream) == []
        assert stream.outcome.result == ["north", "south"]

    async def main() -> Any:
        async with carboy.AsyncSandbox() as loop_box:
            return (await loop_box.run(CODE, frames=named)).result

    assert asyncio.run(main()) == ["north", "south"]


class DataFrame:
    """What is taken for a frame of polars."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.path = ""

    def write_ipc(self, path: str, compression: str) -> None:
        assert compression == "uncompressed"
        self.path = path
        with open(path, "wb") as file:
            file.write(b"ARROW1".ljust(self.size, b"-"))


DataFrame.__module__ = "polars.somewhere"

LOOK = "import os\nname = os.listdir('frames')[0]\n"
READ = (
    LOOK
    + "result = [name, open('frames/' + name, 'rb').read(8), os.path.getsize('frames/' + name)]"
)


@pytest.mark.parametrize("size", [10, 3 << 20])
def test_a_frame_is_written_once_and_its_file_goes_with_the_run(size: int) -> None:
    frame = DataFrame(size)

    def left() -> list[str]:
        return [name for name in os.listdir(tempfile.gettempdir()) if "carboy-frames-" in name]

    with carboy.Sandbox() as box:
        out = box.run(READ, {"table": frame, "n": 1})
        assert out.result == ["table.arrow", "QVJST1cxLS0=", size], out
        assert frame.path and not os.path.exists(os.path.dirname(frame.path))
        with box.stream(
            "import time; print(1, flush=True); time.sleep(60)", {"table": frame}
        ) as run:
            next(run)
        assert not os.path.exists(os.path.dirname(frame.path))
        # It is the code that needs the library.
        out = box.run("table", {"table": frame}, timeout=60)
        assert out.error is not None and out.error.type in ("ImportError", "ValueError"), out
        assert "the frame 'table'" in out.error.message
    assert os.path.basename(os.path.dirname(frame.path)) not in left()

    async def main() -> Any:
        async with carboy.AsyncSandbox() as loop_box:
            return (await loop_box.run(READ, {"table": frame})).result

    assert asyncio.run(main()) == ["table.arrow", "QVJST1cxLS0=", size]
    assert not os.path.exists(os.path.dirname(frame.path))


def test_a_frame_goes_as_bytes_where_the_policy_says_from_where_files_come() -> None:
    policy = carboy.Policy(inputs_from=[])
    out = carboy.run(READ, {"table": DataFrame(3 << 20)}, policy=policy)
    assert out.result is not None and out.result[2] == 3 << 20, out


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"frames": {"class": "a.csv"}}, "keyword"),
        ({"frames": {3: "a.csv"}}, "3"),
        ({"frames": {"x": 3}}, "must be a path"),
        ({"frames": ["a.csv"]}, "mapping"),
        ({"frames": {"x": "a.xlsx"}}, "no format is named"),
        ({"frames": {"x": "missing.csv"}}, "cannot be opened"),
        ({"frames": {"x": carboy.FrameFile("a.csv", kind="excel")}}, "no known kind"),  # type: ignore[arg-type]
        ({"frames": {"x": carboy.FrameFile("a", format="xls")}}, "no known format"),  # type: ignore[arg-type]
        ({"frames": {"x": DataFrame(1)}}, "no path but a polars.DataFrame"),
        ({"frames": {"x": "a.csv"}, "inputs": {"x": 1}}, "an input has that name"),
        ({"frames": {"x": "a.csv"}, "files": {"frames/x.csv": b""}}, "given twice"),
        ({"inputs": {"x": {"y": DataFrame(1)}}}, "an input of its own"),
    ],
)
def test_what_cannot_be_a_frame_is_said(given: Any, words: str) -> None:
    with pytest.raises(carboy.RequestError, match=words):
        carboy.run("result = 1", **given)


def test_a_tool_and_a_frame_have_two_names() -> None:
    def sales() -> int:
        "Counts."
        return 1

    with pytest.raises(carboy.RequestError, match="a tool has that name"):
        carboy.run("result = 1", tools=[sales], frames={"sales": "sales.csv"})


def test_a_prompt_tells_of_frames_where_there_are_libraries_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert "LazyFrame" not in carboy.Sandbox(python="/no/python").prompt()
    packages = [_packages.Package("polars", "polars", "2.1.0")]
    monkeypatch.setattr(_prompt, "importable", lambda python, policy: packages)
    said = carboy.Sandbox().prompt()
    assert "a polars `LazyFrame` if the code imports polars" in said
