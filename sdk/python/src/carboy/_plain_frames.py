"""Tables of pandas where there is no pyarrow: an archive of numpy's arrays, one for each column.

`about` in it is JSON: the columns and the levels of the index by the numbers of their parts, and how
each part is written. Numbers, dates and durations are arrays as they are; categories are codes and a part
for the categories; times in a zone are times in UTC; what else there is must be text, numbers or nothing,
and is JSON.
"""

from __future__ import annotations

import importlib
import json
import zipfile
from typing import Any

# In place of a column's name, for a series that has none.
NAMELESS = "carboy: a series without a name"

_NEEDS_ARROW = "install pyarrow here and where the code runs: with it all types can be passed"


class NotPassedError(Exception):
    """A frame cannot be passed: why, and what to do instead."""

    def __init__(self, why: str, hint: str = _NEEDS_ARROW) -> None:
        super().__init__(why)
        self.hint = hint


def write_plain(path: str, frame: Any) -> None:
    """Writes a table of pandas."""
    pandas, numpy = importlib.import_module("pandas"), importlib.import_module("numpy")
    archive = _Archive(pandas, numpy)
    index = frame.index
    if isinstance(frame.columns, pandas.MultiIndex):
        raise NotPassedError("columns in levels need pyarrow")
    levels = []
    if isinstance(index, pandas.MultiIndex):
        levels = [
            (index.names[at], index.get_level_values(at).to_series()) for at in range(index.nlevels)
        ]
    elif not (isinstance(index, pandas.RangeIndex) and _is_plain(index)):
        levels = [(index.name, index.to_series())]
    columns = [(label, frame.iloc[:, at]) for at, label in enumerate(frame.columns)]
    about = {
        "rows": len(frame),
        "index": [archive.add(name, values) for name, values in levels],
        "columns": [archive.add(name, values) for name, values in columns],
        "parts": archive.parts,
    }
    text = json.dumps(about, allow_nan=False).encode()
    archive.arrays["about"] = numpy.frombuffer(text, dtype=numpy.uint8)
    with zipfile.ZipFile(path, "w") as file:
        for name, array in archive.arrays.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as part:
                numpy.lib.format.write_array(part, array, allow_pickle=False)


def _is_plain(index: Any) -> bool:
    return index.start == 0 and index.step == 1 and index.name is None


class _Archive:
    """Arrays by the numbers of their parts."""

    def __init__(self, pandas: Any, numpy: Any) -> None:
        self.arrays: dict[str, Any] = {}
        self.parts: list[dict[str, Any]] = []
        self._pandas = pandas
        self._numpy = numpy

    def add(self, name: Any, series: Any) -> int:
        """A column, a level of an index or a list of categories; returns its number."""
        if not isinstance(name, (str, int, float, bool, type(None))):
            raise NotPassedError(f"a column with the name {name!r} needs pyarrow")
        pandas, numpy = self._pandas, self._numpy
        number = len(self.parts)
        part: dict[str, Any] = {"name": name, "form": "array"}
        self.parts.append(part)
        dtype = series.dtype
        if isinstance(dtype, pandas.CategoricalDtype):
            part["form"], part["ordered"] = "category", bool(dtype.ordered)
            part["categories"] = self.add(None, dtype.categories.to_series())
            array = series.array.codes
        elif isinstance(dtype, pandas.DatetimeTZDtype):
            part["form"], part["zone"] = "zoned", str(dtype.tz)
            array = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        elif isinstance(dtype, numpy.dtype) and dtype.kind in "biufcmM":
            array = series.to_numpy()
        else:
            part["form"], part["dtype"] = "json", str(dtype)
            text = json.dumps([self._item(name, value) for value in series], allow_nan=False)
            array = numpy.frombuffer(text.encode(), dtype=numpy.uint8)
        self.arrays[str(number)] = array
        return number

    def _item(self, name: Any, value: Any) -> Any:
        if isinstance(value, self._numpy.generic):
            value = value.item()
        if isinstance(value, (str, bool, int)):
            return value
        is_missing = self._pandas.api.types.is_scalar(value) and self._pandas.isna(value)
        if is_missing:
            return None
        if isinstance(value, float) and abs(value) != float("inf"):
            return value
        raise NotPassedError(
            f"the column {name!r} holds a {type(value).__name__}, which needs pyarrow"
        )
