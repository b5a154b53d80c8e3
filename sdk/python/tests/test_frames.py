"""Frames that a run is given. `tests/frames.py` has what needs all libraries at once."""

from __future__ import annotations

import asyncio
import datetime
import decimal
import os
import pathlib
import tempfile
import threading
from typing import Any

import pytest

import carboy
from carboy import _data_frames, _packages, _prompt

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

    def __init__(self, size: int, may: threading.Event | None = None) -> None:
        self.size = size
        self.path = ""
        # Writing has begun; and it may end, if it has to wait for that.
        self.begun = threading.Event()
        self.may = may

    def write_ipc(self, path: str, compression: str) -> None:
        assert compression == "uncompressed"
        self.path = path
        self.begun.set()
        assert self.may is None or self.may.wait(60), "the loop waits for it"
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


def test_a_loop_goes_on_while_the_frames_of_a_stream_are_written() -> None:
    async def main() -> None:
        async with carboy.AsyncSandbox() as box:
            may = threading.Event()
            stream = box.stream(READ, {"table": DataFrame(10, may)})
            may.set()
            assert [chunk async for chunk in stream] == []
            assert stream.outcome.result == ["table.arrow", "QVJST1cxLS0=", 10]
            # One that is not wanted any more never runs, and leaves nothing.
            may = threading.Event()
            frame = DataFrame(10, may)
            stream = box.stream(READ, {"table": frame})
            assert await asyncio.to_thread(frame.begun.wait, 60)
            stream.close()
            assert [chunk async for chunk in stream] == []
            may.set()
            while os.path.exists(os.path.dirname(frame.path)):
                await asyncio.sleep(0.01)
            # What cannot be written is told where the stream is used.
            wrong = box.stream("1", {"table": frame, "class": 1})
            with pytest.raises(carboy.RequestError, match="class"):
                async with wrong:
                    pass

    asyncio.run(asyncio.wait_for(main(), 120))


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


DAY, NOON = datetime.date(2026, 11, 16), datetime.datetime(2026, 11, 16, 12)
OBJECTS: dict[str, tuple[list[Any], str]] = {
    "dates and times": ([DAY, NOON], "values of one type"),
    "numbers and text": ([1, "a"], "values of one type"),
    "whole and real": ([1, 1.5], "values of one type"),
    "whole or nothing": ([1, None], "convert the column"),
    "dicts": ([{"a": 1}, {"b": 2}], "convert the column"),
    "lists": ([[1], [2]], "convert the column"),
    "tuples": ([(1,), (2,)], "convert the column"),
    "sets": ([{1}, {2}], "convert the column"),
    "times": ([NOON, NOON], "convert the column"),
    "times of day in a zone": (
        [datetime.time(1, tzinfo=datetime.timezone.utc)] * 2,
        "convert the column",
    ),
    "no number": ([decimal.Decimal("1.5"), decimal.Decimal("NaN")], "put None"),
    "no finite number": ([decimal.Decimal("1.5"), decimal.Decimal("Infinity")], "convert"),
    "surrogates": (["a", "\ud800"], "replace it"),
}


@pytest.mark.parametrize("what", OBJECTS)
def test_a_column_that_arrow_would_change_is_refused(what: str) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    values, advice = OBJECTS[what]
    column = pandas.Series(values, dtype=object)
    given = [pandas.DataFrame({"sum": [1, 2], "odd": column}), column.rename("odd")]
    # These are no index, or one of levels.
    if what not in ("dicts", "lists", "sets", "tuples"):
        index = pandas.Index(values, dtype=object, name="odd")
        given.append(pandas.DataFrame({"sum": [1, 2]}, index=index))
    for frame in given:
        with pytest.raises(carboy.RequestError, match="the column 'odd'") as caught:
            carboy.run("result = 1", {"df": frame})
        assert advice in str(caught.value.hint), caught.value.hint


def odd_frames(pandas: Any) -> dict[str, tuple[Any, str, str]]:
    """Frames that would arrive otherwise by way of Arrow, the reason, and the advice."""
    hours = datetime.timedelta(hours=2)
    named = pandas.to_datetime(["2026-01-01"]).tz_localize(datetime.timezone(hours, "UTC"))
    one = pandas.DataFrame([[1, 2]])
    return {
        "crosstab": (
            pandas.crosstab(pandas.Series(["a", "b"]), pandas.Series([True, False])),
            "the name of a column False would arrive as True",
            "df.columns.astype",
        ),
        "collision": (
            one.set_axis([1, "1"], axis=1),
            "of more than one type: int and str",
            "df.columns.astype",
        ),
        "mixed": (
            one.set_axis([1, "b"], axis=1),
            "of more than one type: int and str",
            "df.columns.astype",
        ),
        "categories as labels": (
            one.set_axis(pandas.CategoricalIndex(["a", "b"]), axis=1),
            "of the type category",
            "df.columns.astype",
        ),
        "twice": (one.set_axis(["a", "a"], axis=1), "two columns have the name 'a'", "its own"),
        "index": (
            one.set_axis([5]).rename_axis(index=7),
            "the name 7 of the index would arrive",
            "rename_axis",
        ),
        "complex": (pandas.DataFrame({"a": [1j]}), "'a' has complex numbers", ".real"),
        "sparse": (
            pandas.DataFrame({"a": pandas.arrays.SparseArray([0, 1])}),
            "'a' is sparse",
            "to_dense",
        ),
        "NA": (
            pandas.DataFrame({"a": pandas.Series(["x", pandas.NA], dtype=object)}),
            "'a' holds Python objects and a missing value of the type NAType",
            "put None",
        ),
        "cut": (pandas.DataFrame({"a": pandas.cut([1, 2, 3], 2)}), "'a' has categories", "text"),
        "zone": (pandas.DataFrame({"a": named}), "'a' has times in a zone", "tz_convert"),
    }


def test_a_frame_that_arrow_would_change_is_refused() -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    for what, (frame, words, advice) in odd_frames(pandas).items():
        with pytest.raises(carboy.RequestError) as caught:
            carboy.run("result = 1", {"df": frame})
        assert words in str(caught.value), (what, caught.value)
        assert advice in str(caught.value.hint), (what, caught.value.hint)
        assert "values of one type" not in str(caught.value.hint), what


def test_what_the_plain_form_would_change_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas, numpy = pytest.importorskip("pandas"), pytest.importorskip("numpy")
    monkeypatch.setattr(_data_frames.Frames, "_has_arrow", lambda self: False)
    times = [
        numpy.datetime64("2026-01-01"),
        numpy.timedelta64(1, "s"),
        numpy.datetime64("NaT", "s"),
    ]
    for time in times:
        frame = pandas.DataFrame({"odd": pandas.Series([time], dtype=object)})
        # pandas may have made its own of it.
        frame.isetitem(0, pandas.Series(numpy.array([time, None], dtype=object)[:1], dtype=object))
        with pytest.raises(carboy.RequestError, match="the column 'odd' holds"):
            carboy.run("result = 1", {"df": frame})
    for what in ("zone", "NA"):
        frame, words, _ = odd_frames(pandas)[what]
        with pytest.raises(carboy.RequestError, match=words):
            carboy.run("result = 1", {"df": frame})
    one = pandas.DataFrame([[1, 2]], columns=["a", "b"])
    with pytest.raises(carboy.RequestError, match=r"the list of columns has a name \('n'\)"):
        carboy.run("result = 1", {"df": one.rename_axis(columns="n")})
    categories = one.set_axis(pandas.CategoricalIndex(["a", "b"]), axis=1)
    with pytest.raises(carboy.RequestError, match="names of columns of the type category"):
        carboy.run("result = 1", {"df": categories})


def test_a_class_that_adds_to_a_frame_is_refused(tmp_path: pathlib.Path) -> None:
    numpy, pandas = pytest.importorskip("numpy"), pytest.importorskip("pandas")

    class GeoDataFrame(pandas.DataFrame):  # type: ignore[misc, name-defined] # of any version
        """As geopandas has it."""

    class Named(pandas.Series):  # type: ignore[misc, name-defined] # of any version
        """A series of somebody's."""

    for value, advice in (
        (numpy.array([[1]]).view(numpy.matrix), "numpy.asarray(x)"),
        (numpy.rec.array([(1,)], dtype=[("a", int)]), "numpy.asarray(x)"),
        (numpy.ma.array([1, 2], mask=[0, 1]), "its mask as two arrays"),
        (GeoDataFrame({"a": [1]}), "pandas.DataFrame(x)"),
        (Named([1], name="a"), "pandas.Series(x)"),
    ):
        with pytest.raises(carboy.RequestError) as caught:
            carboy.run("result = 1", {"x": value})
        assert advice in str(caught.value.hint), caught.value
    mapped = numpy.memmap(tmp_path / "numbers", dtype="i4", mode="w+", shape=(3,))
    mapped[:] = [1, 2, 3]
    out = carboy.run("result = [type(x).__name__, x.tolist()]", {"x": mapped})
    assert out.result == ["ndarray", [1, 2, 3]], out


def test_integers_of_128_bits_are_refused_where_pyarrow_would_map_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    polars = pytest.importorskip("polars")
    short = polars.DataFrame({"n": [2**100]}, schema={"n": polars.Int128})
    out = carboy.run("result = str(df['n'][0])", {"df": short})
    assert out.result == str(2**100), out
    monkeypatch.setattr(_data_frames, "_MAPPED", 0)
    for dtype, value in ((polars.Int128, 1), (polars.List(polars.Int128), [1])):
        long = polars.DataFrame({"n": [value]}, schema={"n": dtype})
        for frame in (long, long["n"]):
            with pytest.raises(carboy.RequestError, match="'n' has the type .*Int128") as caught:
                carboy.run("result = 1", {"df": frame})
            assert "LazyFrame" in str(caught.value.hint)
