"""Files and directories that a run is given, by path and as bytes."""

from __future__ import annotations

import asyncio
import pathlib

import pytest

import carboy


@pytest.fixture
def data(tmp_path: pathlib.Path) -> pathlib.Path:
    """A directory that the engine's jars can read, whoever they run as."""
    folder = tmp_path / "data"
    folder.mkdir()
    (tmp_path / "sales.csv").write_text("region,sum\nnorth,3\n")
    (folder / "one.txt").write_text("one")
    return tmp_path


READ = """
import csv
rows = list(csv.DictReader(open("sales.csv")))
raw, again = open("raw.bin", "rb").read(), open("inputs/raw.bin", "rb").read(1)
result = [rows, raw.hex(), open("data/one.txt").read(), again.hex()]
"""
FOUND = [[{"region": "north", "sum": "3"}], "00ff", "one", "00"]


def test_files_and_mounts_are_found_by_their_names(
    data: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(data)
    out = carboy.run(
        READ, files={"sales.csv": "sales.csv", "raw.bin": b"\0\xff"}, mounts={"/data": "./data"}
    )
    assert out.result == FOUND, out
    files = {"sales.csv": data / "sales.csv", "raw.bin": bytearray(b"\0\xff")}
    with carboy.Sandbox() as box:
        assert box.run(READ, files=files, mounts={"/data": data / "data"}).result == FOUND
        with box.stream(READ, files=files, mounts={"/data": data / "data"}) as stream:
            assert [chunk.text for chunk in stream] == []
        assert stream.outcome is not None and stream.outcome.result == FOUND
        # What one run was given, the next one does not see.
        assert box.run("import os\nresult = os.listdir('.')").result == []


def test_files_and_mounts_in_a_loop(data: pathlib.Path) -> None:
    async def main() -> object:
        async with carboy.AsyncSandbox() as box:
            files = {"sales.csv": data / "sales.csv", "raw.bin": memoryview(b"\0\xff")}
            out = await box.run(READ, files=files, mounts={"/data": data / "data"})
            return out.result

    assert asyncio.run(main()) == FOUND


def test_inputs_are_only_read_and_only_from_where_the_policy_says(data: pathlib.Path) -> None:
    files = {"sales.csv": data / "sales.csv"}
    out = carboy.run("open('sales.csv', 'w')", files=files)
    assert out.error is not None and out.error.type in ("OSError", "PermissionError"), out
    assert (data / "sales.csv").read_text() == "region,sum\nnorth,3\n"
    policy = carboy.Policy(inputs_from=[data / "data"])
    with pytest.raises(carboy.RequestError, match=r"sales\.csv"):
        carboy.run("result = 1", files=files, policy=policy)
    out = carboy.run("result = 1", mounts={"/data": data / "data"}, policy=policy)
    assert out.result == 1


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"../x": b""}, "plain parts"),
        ({"/x": b""}, "relative name"),
        ({"x": 3}, "path or bytes"),
        ({3: b""}, "must be str"),
        ({"x": "missing.csv"}, "cannot be opened"),
        ({"x": "bad\udc80.csv"}, "surrogate"),
        ({"bad\udc80": b""}, "surrogate"),
        (["sales.csv"], "mapping"),
    ],
)
def test_what_cannot_be_handed_in_is_said(files: object, words: str) -> None:
    with pytest.raises(carboy.RequestError, match=words):
        carboy.run("result = 1", files=files)  # type: ignore[arg-type]
