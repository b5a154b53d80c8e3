"""Whether a table of pandas arrives as it was by way of Arrow.

pyarrow makes a table of nearly everything, and changes what Arrow has no type for: labels become text, lists
become arrays, datetimes become dates. What would change is refused by its column before the run.
"""

from __future__ import annotations

import datetime
import decimal
import importlib
from collections.abc import Iterator
from typing import Any

from ._plain_frames import CONVERT, EXACT, NotPassedError, check_missing, check_zone, column_words

_RENAME = "give the columns names of one type: text, numbers or times"


def arrow_table(arrow: Any, frame: Any) -> Any:
    """A table of Arrow from which pandas makes the same frame."""
    pandas, numpy = importlib.import_module("pandas"), importlib.import_module("numpy")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise NotPassedError(
            f"two columns have the name {twice!r}", hint="give each column a name of its own"
        )
    # None and nan can be beside the others.
    labels = [label for label in frame.columns if label is not None and label == label]
    kinds = {type(label).__name__ for label in labels}
    if len(kinds) > 1:
        raise NotPassedError(
            f"the names of the columns are of more than one type: {' and '.join(sorted(kinds)[:3])}",
            hint=f"{_RENAME}, for example df.columns = df.columns.astype(str)",
        )
    if not isinstance(frame.index, pandas.RangeIndex):
        for name in frame.index.names:
            if name is not None and not isinstance(name, str):
                raise NotPassedError(
                    f"the name {name!r} of the index would arrive as text",
                    hint="give it a name that is text, for example with df.rename_axis(index=...)",
                )
    for name, values in _parts(pandas, frame):
        _check(pandas, numpy, name, values)
    _check_kept(pandas, arrow, frame)
    try:
        return arrow.Table.from_pandas(frame)
    except UnicodeEncodeError:
        raise _not_text(arrow, _parts(pandas, frame)) from None


def _parts(pandas: Any, frame: Any) -> Iterator[tuple[Any, Any]]:
    """The columns and the levels of the index, with their names."""
    for at, label in enumerate(frame.columns):
        yield label, frame.iloc[:, at]
    index = frame.index
    if not isinstance(index, pandas.RangeIndex):
        for at in range(index.nlevels):
            yield index.names[at], index.get_level_values(at)


def _check(pandas: Any, numpy: Any, name: Any, values: Any) -> None:
    """Refuses values that Arrow does not have, or has as something else."""
    dtype = values.dtype
    if isinstance(dtype, pandas.CategoricalDtype):
        _check(pandas, numpy, name, dtype.categories)
        if isinstance(dtype.categories.dtype, (pandas.DatetimeTZDtype, pandas.IntervalDtype)):
            raise NotPassedError(
                f"{column_words(name)} has categories of the type {dtype.categories.dtype}",
                hint="make them text, for example with .astype(str)",
            )
    elif isinstance(dtype, pandas.SparseDtype):
        raise NotPassedError(
            f"{column_words(name)} is sparse", hint="make it dense, with .sparse.to_dense()"
        )
    elif isinstance(dtype, pandas.DatetimeTZDtype):
        check_zone(pandas, column_words(name), dtype)
    elif isinstance(dtype, numpy.dtype) and dtype.kind == "c":
        raise NotPassedError(
            f"{column_words(name)} has complex numbers, which Arrow does not have",
            hint="pass an array of numpy, or two columns: .real and .imag",
        )
    elif isinstance(dtype, numpy.dtype) and not dtype.isnative:
        raise NotPassedError(
            f"{column_words(name)} has numbers in another order of bytes ({dtype})",
            hint=f"convert it with .astype({dtype.newbyteorder('=').name!r})",
        )
    elif str(dtype) == "object":
        _check_objects(pandas, numpy, name, numpy.asarray(values, dtype=object))


def _check_objects(pandas: Any, numpy: Any, name: Any, values: Any) -> None:
    missing = pandas.isna(values)
    check_missing(column_words(name), values[missing])
    present = values[~missing]
    kinds = set(map(type, present))
    # These are text and bytes.
    plain = {numpy.str_: str, numpy.bytes_: bytes}
    known = {plain.get(kind, kind) for kind in kinds}
    if known == {bool} and missing.any():
        return
    if len(known) > 1 or not known.issubset(EXACT):
        named = " and ".join(sorted(kind.__name__ for kind in kinds)[:3])
        hint = CONVERT
        if len(known) > 1:
            hint = f"give the column values of one type; {CONVERT}"
        raise NotPassedError(
            f"{column_words(name)} holds Python objects ({named}) that would arrive as something else",
            hint=hint,
        )
    if known == {datetime.time} and any(one.tzinfo is not None for one in present):
        raise NotPassedError(f"{column_words(name)} has times of day in a zone", hint=CONVERT)
    if known == {decimal.Decimal} and not all(one.is_finite() for one in present):
        raise NotPassedError(f"{column_words(name)} has a Decimal that is not finite", hint=CONVERT)


def _check_kept(pandas: Any, arrow: Any, frame: Any) -> None:
    """Passes the frame on without its rows, and looks what came of labels and types."""
    nothing = frame.iloc[:0]
    try:
        found = arrow.Table.from_pandas(nothing).to_pandas()
    except Exception as error:
        for name, values in _parts(pandas, nothing):
            try:
                alone = pandas.DataFrame({"x": values.array})
                arrow.Table.from_pandas(alone).to_pandas()
            except Exception:
                raise NotPassedError(
                    f"{column_words(name)} has the type {values.dtype}, which Arrow cannot pass",
                    hint=CONVERT,
                ) from error
        raise NotPassedError(
            f"the names of the columns are of the type {frame.columns.dtype}, which Arrow cannot pass",
            hint=f"{_RENAME}, for example df.columns = df.columns.astype(str)",
        ) from error
    for was, now, what in (
        (frame.columns, found.columns, "name of a column"),
        (frame.columns.names, found.columns.names, "name of a level of columns"),
        (frame.index.names, found.index.names, "name of a level of the index"),
    ):
        for one, other in zip(was, now, strict=True):
            if _typed(one) != _typed(other):
                raise NotPassedError(
                    f"the {what} {one!r} would arrive as {other!r}",
                    hint=f"{_RENAME}, for example df.columns = df.columns.astype(str)"
                    if what == "name of a column"
                    else "make it text",
                )
    _check_same_dtype("the list of columns", frame.columns, found.columns)
    pairs = zip(_parts(pandas, frame), _parts(pandas, found), strict=True)
    for (name, values), (_, others) in pairs:
        _check_same_dtype(column_words(name), values, others)


def _typed(label: Any) -> Any:
    if isinstance(label, tuple):
        return [_typed(one) for one in label]
    # One that is missing differs from itself.
    return type(label), label if label == label else None


def _check_same_dtype(what: str, values: Any, others: Any) -> None:
    was, now = values.dtype, others.dtype
    if hasattr(was, "categories") and hasattr(now, "categories"):
        if was.ordered == now.ordered:
            _check_same_dtype(what, was.categories, now.categories)
            return
    # Text among objects becomes pandas' own type of text, where there is one.
    elif (type(was) is type(now) and str(was) == str(now)) or str(was) == "object":
        return
    raise NotPassedError(
        f"{what} has the type {was} and would arrive as {now}",
        hint=CONVERT,
    )


def _not_text(arrow: Any, parts: Iterator[tuple[Any, Any]]) -> NotPassedError:
    where = "a name"
    for name, values in parts:
        if str(values.dtype) in ("object", "str", "string"):
            try:
                arrow.array(values, from_pandas=True)
            except UnicodeEncodeError:
                where = column_words(name)
                break
    return NotPassedError(
        f"{where} has text with an unpaired surrogate, which is not UTF-8",
        hint='replace it, for example with .str.encode("utf-8", "replace").str.decode("utf-8")',
    )
