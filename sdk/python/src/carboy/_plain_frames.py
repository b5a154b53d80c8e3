"""Tables of pandas where there is no pyarrow: an archive of numpy's arrays, one for each column.

`about` in it is JSON: the columns and the levels of the index by the numbers of their parts, and how
each part is written. Numbers, dates and durations are arrays as they are; categories are codes and a part
for the categories; times in a zone are times in UTC; what else there is must be text, numbers or nothing,
and is JSON.
"""

from __future__ import annotations

import datetime
import decimal
import importlib
import json
import zipfile
import zoneinfo
from collections.abc import Iterable
from typing import Any

# In place of a column's name, for a series that has none.
NAMELESS = "carboy: a series without a name"

_NEEDS_ARROW = "install pyarrow here and where the code runs: with it more types can be passed"

CONVERT = "convert the column, for example with .astype(...), or pass it as a list: .tolist()"
# What Arrow has a type for, of what a column of Python objects may hold.
EXACT = (str, bytes, datetime.date, datetime.time, decimal.Decimal)


class NotPassedError(Exception):
    """A frame cannot be passed: why, and what to do instead."""

    def __init__(self, why: str, hint: str = _NEEDS_ARROW) -> None:
        super().__init__(why)
        self.hint = hint


def column_words(name: Any) -> str:
    """What a column or a level of the index is called in a message."""
    return "the index" if name is None else f"the column {name!r}"


def check_zone(pandas: Any, words: str, dtype: Any) -> None:
    """Refuses times in a zone that cannot be made again of its name."""
    zone, text = dtype.tz, str(dtype.tz)
    try:
        if isinstance(zone, datetime.timezone):
            is_known = pandas.DatetimeTZDtype(dtype.unit, text).tz == zone
        else:
            zoneinfo.ZoneInfo(text)
            # One of zoneinfo, or of pytz.
            is_known = text in (getattr(zone, "key", None), getattr(zone, "zone", None))
    except Exception:
        is_known = False
    if not is_known:
        raise NotPassedError(
            f"{words} has times in a zone without a known name ({text})",
            hint='convert it, for example with .dt.tz_convert("Europe/Berlin") or .dt.tz_convert("UTC")',
        )


def check_missing(words: str, values: Iterable[Any]) -> None:
    """Refuses missing values among Python objects that would arrive as None. Only nan is the same as that."""
    for value in values:
        if value is not None and not isinstance(value, float):
            raise NotPassedError(
                f"{words} holds Python objects and a missing value of the type "
                f"{type(value).__name__}",
                hint="put None for it: column.where(column.notna(), None), or convert the column, for "
                'example with .astype("string") or pandas.to_datetime',
            )


def write_plain(path: str, frame: Any) -> None:
    """Writes a table of pandas."""
    pandas, numpy = importlib.import_module("pandas"), importlib.import_module("numpy")
    archive = _Archive(pandas, numpy)
    index = frame.index
    if isinstance(frame.columns, pandas.MultiIndex):
        raise NotPassedError("columns in levels need pyarrow")
    _check_labels(pandas, frame.columns)
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


def _check_labels(pandas: Any, labels: Any) -> None:
    """Refuses names of columns that a list of them does not give again."""
    if labels.name is not None:
        raise NotPassedError(
            f"the list of columns has a name ({labels.name!r}), which needs pyarrow",
            hint="remove it with df.rename_axis(columns=None), or install pyarrow here and where the "
            "code runs",
        )
    was, now = labels.dtype, pandas.Index(list(labels)).dtype
    is_text = (
        str(was) == "object" and pandas.api.types.infer_dtype(labels, skipna=False) == "string"
    )
    if len(labels) and str(was) != str(now) and not is_text:
        raise NotPassedError(f"names of columns of the type {was} need pyarrow")


def _is_plain(index: Any) -> bool:
    return index.start == 0 and index.step == 1 and index.name is None


class _Archive:
    """Arrays by the numbers of their parts."""

    def __init__(self, pandas: Any, numpy: Any) -> None:
        self.arrays: dict[str, Any] = {}
        self.parts: list[dict[str, Any]] = []
        self._pandas = pandas
        self._numpy = numpy

    def add(self, name: Any, series: Any, words: str = "") -> int:
        """A column, a level of an index or a list of categories; returns its number."""
        if type(name) not in (str, int, float, bool, type(None)):
            raise NotPassedError(f"a column with the name {name!r} needs pyarrow")
        words = words or column_words(name)
        pandas, numpy = self._pandas, self._numpy
        number = len(self.parts)
        part: dict[str, Any] = {"name": name, "form": "array"}
        self.parts.append(part)
        dtype = series.dtype
        if isinstance(dtype, pandas.CategoricalDtype):
            part["form"], part["ordered"] = "category", bool(dtype.ordered)
            part["categories"] = self.add(None, dtype.categories.to_series(), words)
            array = series.array.codes
        elif isinstance(dtype, pandas.DatetimeTZDtype):
            check_zone(pandas, words, dtype)
            part["form"], part["zone"] = "zoned", str(dtype.tz)
            array = series.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        elif isinstance(dtype, numpy.dtype) and dtype.kind in "biufcmM":
            array = series.to_numpy()
        else:
            self._check_dtype(words, dtype)
            part["form"], part["dtype"] = "json", str(dtype)
            items = [self._item(words, value, str(dtype) == "object") for value in series]
            text = json.dumps(items, allow_nan=False)
            array = numpy.frombuffer(text.encode(), dtype=numpy.uint8)
        self.arrays[str(number)] = array
        return number

    def _check_dtype(self, words: str, dtype: Any) -> None:
        """Refuses a type that its name does not give again."""
        try:
            made = self._pandas.Series([], dtype=str(dtype)).dtype
        except Exception:
            made = None
        # Those of Arrow need pyarrow in the run too.
        if type(made) is not type(dtype) or hasattr(dtype, "pyarrow_dtype"):
            raise NotPassedError(f"{words} has the type {dtype}, which needs pyarrow")

    def _item(self, words: str, value: Any, is_object: bool) -> Any:
        numpy = self._numpy
        # A number of numpy is equal to one of Python. A time of numpy would become a number.
        if isinstance(value, (numpy.bool_, numpy.integer, numpy.floating, numpy.str_)):
            if not isinstance(value, numpy.timedelta64):
                value = value.item()
        if type(value) in (str, bool, int):
            return value
        is_missing = self._pandas.api.types.is_scalar(value) and self._pandas.isna(value)
        if is_missing:
            if is_object:
                check_missing(words, [value])
            return None
        if type(value) is float and abs(value) != float("inf"):
            return value
        what = f"{words} holds a {type(value).__name__}"
        if is_object and type(value) not in EXACT:
            raise NotPassedError(f"{what}, which cannot be passed in a column", hint=CONVERT)
        raise NotPassedError(f"{what}, which needs pyarrow")
