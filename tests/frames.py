#!/usr/bin/env python3
"""Shows what docs/files.md says of frames, with the libraries that they are of.

tests/programs runs it, with an interpreter that has pandas, polars, pyarrow and numpy, in both walls.
CARBOY_TEST_FRAME_BYTES is the size of the table on which the group-by is made; a gate takes a third of a GB.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "sdk" / "python" / "src"))

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet

import carboy

# What a frame is, in words. The code has the same function.
SHOWN = """
def shown(x):
    name = type(x).__module__.partition(".")[0] + "." + type(x).__name__
    if name == "pandas.Series":
        return [name, str(x.dtype), x.name, repr(x.index), [str(one) for one in x]]
    if name == "pandas.DataFrame":
        columns = [[str(label), str(x.dtypes.iloc[at])] for at, label in enumerate(x.columns)]
        return [name, columns, repr(x.index), x.to_string()]
    if name in ("polars.DataFrame", "polars.LazyFrame"):
        table = x.lazy().collect()
        return [name, str(table.schema), [[str(one) for one in row] for row in table.rows()]]
    if name == "polars.Series":
        return [name, str(x.dtype), x.name, [str(one) for one in x]]
    if name == "numpy.ndarray":
        return [name, str(x.dtype), list(x.shape), [str(one) for one in x.ravel().tolist()]]
    if name.startswith("pyarrow."):
        table = x.to_table() if hasattr(x, "to_table") else x
        kind = "pyarrow.Dataset" if hasattr(x, "to_table") else name
        return [kind, str(table.schema), [str(row) for row in table.to_pylist()]]
    return [name]
"""
SPACE: dict[str, Any] = {}
exec(SHOWN, SPACE)


def passed() -> dict[str, Any]:
    """One of everything that can be passed."""
    day = datetime.date(2026, 11, 16)
    times = pd.to_datetime(["2026-01-01 12:30", None, "2026-01-03 00:15"])
    table = pd.DataFrame(
        {
            "whole": [1, 2, 3],
            "real": [1.5, None, 0.1 + 0.2],
            "text": ["a", None, "ü"],
            "time": times,
            "zoned": times.tz_localize("Europe/Berlin"),
            "lasts": pd.to_timedelta([1, None, 3], unit="s"),
            "kind": pd.Categorical(["x", None, "y"], categories=["y", "x"], ordered=True),
            "flag": [True, False, True],
            "perhaps": pd.array([1, None, 3], dtype="Int64"),
            "day": [day, None, day],
            "bytes": [b"a", None, b"\0"],
        },
        index=pd.Index(["one", "two", "two"], name="row"),
    )
    columns = pl.DataFrame(
        {
            "whole": [1, None, 3],
            "text": ["a", None, "a text that is not short"],
            "day": [day, None, day],
            "kind": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "known": pl.Series(["x", "y", None], dtype=pl.Enum(["y", "x"])),
            "list": [[1], [], None],
            "pair": [{"a": 1}, {"a": None}, None],
        }
    )
    arrow = pa.table({"whole": [1, None], "kind": pa.array(["x", "y"]).dictionary_encode()})
    numbers = np.arange(6, dtype=np.int16).reshape(2, 3)
    return {
        "table": table,
        "levels": table.set_index("whole", append=True)[["text"]],
        "plain": pd.DataFrame({"a": [1, 2]}),
        "numbered": pd.DataFrame([[1, 2]], columns=[5, 7]),
        "in_levels": pd.DataFrame(
            [[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
        ),
        "empty": pd.DataFrame({"a": pd.Series([], dtype="float64")}),
        "column": table["text"],
        "nameless": pd.Series([1, 2], index=[5, 6]),
        "columns": columns,
        "one_column": columns["day"],
        "later": columns.lazy().select("whole", "kind"),
        "arrow": arrow,
        "batch": arrow.to_batches()[0],
        "numbers": numbers,
        "turned": numbers.T,
        "times": np.array(["2026-01-01", "NaT"], dtype="M8[s]"),
        "words": np.array(["ab", "c"]),
    }


def same_types(box: carboy.Sandbox) -> None:
    """Everything arrives as what it was."""
    given = passed()
    code = f"{SHOWN}\nresult = {{name: shown(globals()[name]) for name in names}}"
    # Such a frame can be changed in place.
    out = box.run(f"{code}\ntable.loc['one', 'real'] = 2.0", {**given, "names": list(given)})
    assert out.result is not None, out
    for name, value in given.items():
        was = SPACE["shown"](value)
        assert out.result[name] == was, f"{name}: {out.result[name]}, was {was}"


def refused(box: carboy.Sandbox) -> None:
    """What would arrive as something else is refused by its column, before the run."""
    day = datetime.date(2026, 11, 16)
    for value, words in (
        (pd.crosstab(pd.Series(["a", "b"]), pd.Series([True, False])), "column False would arrive"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "of more than one type"),
        (pd.DataFrame([[1]], columns=pd.CategoricalIndex(["a"])), "of the type category"),
        (pd.DataFrame({"odd": [day, datetime.datetime(2026, 1, 1)]}), "the column 'odd'"),
        (pd.DataFrame({"odd": [[1], [2]]}), "the column 'odd'"),
        (pd.Series([1, None], dtype=object, name="odd"), "the column 'odd'"),
        (np.rec.array([(1,)], dtype=[("a", int)]), "would arrive as a numpy.ndarray"),
    ):
        try:
            out = box.run("result = 1", {"x": value})
        except carboy.RequestError as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{value!r} was passed: {out}")


async def same_in_a_loop(policy: carboy.Policy) -> None:
    """An event loop has the same."""
    async with carboy.AsyncSandbox(policy, python=sys.executable) as box:
        out = await box.run("result = int(numbers.sum())", {"numbers": np.arange(1 << 20)})
        assert out.result == sum(range(1 << 20)), out


def files(box: carboy.Sandbox, folder: Path) -> None:
    """Every format is read as every kind, and the code's import chooses one."""
    table = pd.DataFrame({"region": ["n", "s", "n"], "sum": [1, 2, 3]})
    table.to_csv(folder / "a.csv", index=False)
    table.to_json(folder / "a.jsonl", orient="records", lines=True)
    pyarrow.parquet.write_table(pa.Table.from_pandas(table), folder / "a.parquet")
    pl.from_pandas(table).write_ipc(folder / "a.arrow")
    kinds = (
        *("pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame"),
        *("pyarrow.Table", "pyarrow.Dataset"),
    )
    ends = ("csv", "jsonl", "parquet", "arrow")
    frames = {
        f"{end}_{kind.replace('.', '_')}": carboy.FrameFile(folder / f"a.{end}", kind)
        for end in ends
        for kind in kinds
    }
    code = f"{SHOWN}\nresult = {{name: shown(globals()[name]) for name in names}}"
    out = box.run(code, {"names": list(frames)}, frames=frames)
    assert out.result is not None, out
    for name, said in out.result.items():
        assert said[0].replace(".", "_") == name.partition("_")[2], (name, said)
        assert all(word in str(said[-1]) for word in ("n", "s", "3")), (name, said)
    for imports, kind in (
        ("import polars as pl", "LazyFrame"),
        ("from pandas import concat", "DataFrame"),
        ("import numpy, pyarrow as pa", "FileSystemDataset"),
        ("", "DataFrame"),
    ):
        out = box.run(
            f"{imports}\nresult = type(sales).__name__", frames={"sales": folder / "a.parquet"}
        )
        assert out.result == kind, (imports, out)


def group_by(box: carboy.Sandbox, folder: Path) -> None:
    """A large table is mapped: what the code makes of it is all the memory that it takes."""
    size = int(os.environ.get("CARBOY_TEST_FRAME_BYTES", 320_000_000))
    path, rows = folder / "large.arrow", 1 << 18
    schema = pa.schema([("key", pa.int64()), ("value", pa.float64())])
    keys = pa.array(np.arange(rows) % 1000)
    batch = pa.record_batch([keys, pa.array(np.ones(rows))], schema=schema)
    count = -(-size // batch.nbytes)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, schema) as writer:
        for _ in range(count):
            writer.write_batch(batch)
    assert path.stat().st_size >= size
    os.chmod(path, 0o644)
    for kind, code in (
        (
            "pyarrow.Table",
            "df.group_by('key').aggregate([('value', 'sum')])['value_sum'].to_numpy()",
        ),
        (
            "polars.DataFrame",
            "df.lazy().group_by('key').agg(pl.col('value').sum()).collect(engine='streaming')['value']",
        ),
    ):
        frame = {"df": carboy.FrameFile(path, kind)}  # type: ignore[arg-type] # one of them
        started = time.monotonic()
        code = f"import polars as pl\nsums = {code}\nresult = [len(sums), float(sums.sum())]"
        out = box.run(code, frames=frame)
        assert out.result == [1000, float(rows * count)], out
        peak = out.usage.peak_memory_bytes
        assert peak < 300_000_000, f"{kind}: a peak of {peak} bytes"
        took = time.monotonic() - started
        print(f"group-by of {path.stat().st_size} bytes as {kind}: {peak >> 20} MiB, {took:.1f} s")
    path.unlink()


def main() -> None:
    """All of it, in both walls."""
    for walls in ("full", "nested"):
        started = time.monotonic()
        # The clocks are out of the way: the machine may be slow and busy.
        limits = carboy.Limits(memory_bytes=512 << 20, wall_ms=120_000, cpu_ms=60_000)
        policy = carboy.Policy(limits=limits, walls=walls)
        with tempfile.TemporaryDirectory() as name:
            # A root engine's jars are another user.
            os.chmod(name, 0o755)
            tempfile.tempdir = name
            with carboy.Sandbox(
                policy, python=sys.executable, preload=["pandas", "pyarrow"]
            ) as box:
                same_types(box)
                group_by(box, Path(name))
                # Reading is the libraries' business, and no different in other walls.
                if walls == "full":
                    files(box, Path(name))
                    refused(box)
            asyncio.run(same_in_a_loop(policy))
            left = [one for one in os.listdir(name) if one.startswith("carboy-frames-")]
            assert not left, f"left behind: {left}"
            tempfile.tempdir = None
        print(f"frames in {walls} walls: {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
