"""Makes variables of the files that a job names as frames: tables and arrays of the libraries of the code.

A file in Arrow's format is mapped and not read, so that its pages stay the kernel's cache and are no
memory of the jar. Nothing here is touched by a job without frames.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys

from .values import DECODE

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .execute import Space

# Up to this size a frame of pandas and an array are copies that can be changed. What is longer is mapped, as
# far as it can be, and is only read.
CHANGEABLE = 32 << 20
# Code with one of these may use a name that does not stand in it.
INDIRECT = r"\b(?:globals|locals|vars|dir|eval|exec)\b\s*\(|__main__|__dict__"
# The names of formats, for people.
FORMATS = {"arrow": "Arrow", "parquet": "Parquet", "csv": "CSV", "jsonl": "JSONL"}
# In place of a column's name, for a series that has none.
NAMELESS = "carboy: a series without a name"


def lay_out(frames: dict[str, Any], code: str, space: Space, home: str) -> list[str]:
    """Makes the frames that the code names, and returns which. The others are not even opened."""
    made = []
    all_of_them = not code.isascii() or re.search(INDIRECT, code)
    for name, frame in frames.items():
        if not all_of_them and name not in code:
            continue
        # The code may go to another directory, and read some of it later.
        path = os.path.join(home, "inputs", frame["file"])
        form = frame["format"]
        kind = frame.get("kind") or kind_for(form, code)
        make = MAKERS[kind]
        try:
            space[name] = make(path, form)
            made.append(name)
        except MemoryError:
            raise
        except ImportError as error:
            text = f"the frame {name!r} cannot be made: {error}"
            raise ImportError(text) from None
        except Exception as error:
            text = f"the frame {name!r} cannot be read as {FORMATS.get(form, form)}: {error}"
            raise ValueError(text) from error
    return made


def kind_for(form: str, code: str) -> str:
    """What a file becomes if nobody said: a frame of the library that the code imports, or that is there."""
    if form == "npy":
        return "numpy.ndarray"
    if form == "npz":
        return "pandas.DataFrame"
    usual = {
        "polars": "polars.LazyFrame",
        "pandas": "pandas.DataFrame",
        "pyarrow": "pyarrow.Dataset",
    }
    for library, kind in usual.items():
        if re.search(rf"(?m)^[ \t]*(?:import|from)\b.*\b{library}\b", code):
            return kind
    # Most code is written for it.
    if has("pandas") and (form in ("csv", "jsonl") or has("pyarrow")):
        return usual["pandas"]
    for library, kind in usual.items():
        if has(library):
            return kind
    return "rows"


def has(library: str) -> bool:
    """Whether a library is installed."""
    return library in sys.modules or importlib.util.find_spec(library) is not None


def needed(library: str, form: str) -> Any:
    """A library without which a file cannot be read."""
    try:
        return importlib.import_module(library)
    except ImportError as error:
        what = FORMATS.get(form, form)
        raise ImportError(f"a file in the format {what} needs {library}: {error}") from None


def mapped(path: str, form: str) -> Any:
    """The reader of a file in Arrow's format, which is mapped."""
    arrow = needed("pyarrow", form)
    return importlib.import_module("pyarrow.ipc").open_file(arrow.memory_map(path))


def is_small(path: str) -> bool:
    """Whether a copy of it can be had."""
    return os.path.getsize(path) <= CHANGEABLE


def pandas_frame(path: str, form: str) -> Any:
    """A table of pandas."""
    pandas = needed("pandas", form)
    if form == "csv":
        return pandas.read_csv(path)
    if form == "jsonl":
        return pandas.read_json(path, lines=True)
    if form == "parquet":
        return pandas.read_parquet(path)
    if form == "npz":
        return plain(path, pandas)
    table = mapped(path, form).read_all()
    if is_small(path):
        return table.to_pandas().copy()
    # Columns that lie together would be copied to lie so.
    return table.to_pandas(split_blocks=True)


def pandas_series(path: str, form: str) -> Any:
    """The first column of a table of pandas."""
    column = pandas_frame(path, form).iloc[:, 0]
    return column.rename(None) if column.name == NAMELESS else column


def plain(path: str, pandas: Any) -> Any:
    """A table of pandas that was passed without pyarrow: arrays of its columns."""
    with needed("numpy", "npz").load(path, allow_pickle=False) as arrays:
        about = DECODE(arrays["about"].tobytes().decode(), 0)[0]
        index = [level(at, pandas, arrays, about) for at in about["index"]]
        columns = [level(at, pandas, arrays, about) for at in about["columns"]]
    labels = [column.name for column in columns]
    frame = pandas.concat(columns, axis=1) if columns else pandas.DataFrame()
    frame.columns = labels
    if len(index) == 1:
        frame.index = pandas.Index(index[0], name=index[0].name)
    elif index:
        frame.index = pandas.MultiIndex.from_arrays(index, names=[one.name for one in index])
    elif not columns:
        frame.index = pandas.RangeIndex(about["rows"])
    return frame


def level(at: int, pandas: Any, arrays: Any, about: Any) -> Any:
    """One column of it."""
    part = about["parts"][at]
    values = arrays[str(at)]
    if part["form"] == "json":
        items = DECODE(values.tobytes().decode(), 0)[0]
        series = pandas.Series(items, dtype=object)
        series = series if part["dtype"] == "object" else series.astype(part["dtype"])
    elif part["form"] == "category":
        labels = pandas.Index(level(part["categories"], pandas, arrays, about))
        made = pandas.Categorical.from_codes(values, labels, ordered=part["ordered"])
        series = pandas.Series(made)
    elif part["form"] == "zoned":
        series = pandas.Series(values).dt.tz_localize("UTC").dt.tz_convert(part["zone"])
    else:
        series = pandas.Series(values)
    series.name = part["name"]
    return series


def polars_frame(path: str, form: str) -> Any:
    """A table of polars."""
    polars = needed("polars", form)
    if form == "arrow" and not is_small(path) and has("pyarrow"):
        # Polars itself would read all of it.
        return polars.from_arrow(mapped(path, form).read_all(), rechunk=False)
    names = {"arrow": "read_ipc", "csv": "read_csv", "jsonl": "read_ndjson"}
    return getattr(polars, names.get(form, "read_parquet"))(path)


def polars_series(path: str, form: str) -> Any:
    """The first column of a table of polars."""
    return polars_frame(path, form).to_series(0)


def polars_lazy(path: str, form: str) -> Any:
    """A table of polars that is read when it is collected."""
    names = {"arrow": "scan_ipc", "csv": "scan_csv", "jsonl": "scan_ndjson"}
    return getattr(needed("polars", form), names.get(form, "scan_parquet"))(path)


def arrow_table(path: str, form: str) -> Any:
    """A table of pyarrow."""
    return mapped(path, form).read_all() if form == "arrow" else dataset(path, form).to_table()


def arrow_batch(path: str, form: str) -> Any:
    """The first piece of a table of pyarrow."""
    if form == "arrow":
        return mapped(path, form).get_batch(0)
    return dataset(path, form).to_table().combine_chunks().to_batches()[0]


def dataset(path: str, form: str) -> Any:
    """A table of pyarrow that is read as far as it is asked for."""
    needed("pyarrow", form)
    datasets = importlib.import_module("pyarrow.dataset")
    if form == "arrow":
        return datasets.dataset(mapped(path, form).read_all())
    return datasets.dataset(path, format="json" if form == "jsonl" else form)


def array(path: str, form: str) -> Any:
    """An array of numpy."""
    numpy = needed("numpy", form)
    if is_small(path):
        return numpy.load(path, allow_pickle=False)
    return numpy.asarray(numpy.load(path, mmap_mode="r", allow_pickle=False))


def rows(path: str, form: str) -> list[dict[str, Any]]:
    """A list of dicts, where there is no library for frames."""
    if form == "csv":
        with open(path, newline="", encoding="utf-8") as lines:
            return list(importlib.import_module("csv").DictReader(lines))
    if form == "jsonl":
        with open(path, encoding="utf-8") as lines:
            return [DECODE(line, 0)[0] for line in map(str.strip, lines) if line]
    raise ImportError("it needs pandas with pyarrow, polars, or pyarrow, and none is installed")


MAKERS: dict[str, Callable[[str, str], Any]] = {
    "pandas.DataFrame": pandas_frame,
    "pandas.Series": pandas_series,
    "polars.DataFrame": polars_frame,
    "polars.Series": polars_series,
    "polars.LazyFrame": polars_lazy,
    "pyarrow.Table": arrow_table,
    "pyarrow.RecordBatch": arrow_batch,
    "pyarrow.Dataset": dataset,
    "numpy.ndarray": array,
    "rows": rows,
}
