"""Arrays, tables and scalars of numerical libraries, as lists and records.

Known by their names: none of these libraries is imported here. Long ones are cut, and the result says so.
"""

from __future__ import annotations

from .forms import MOST_CELLS, MOST_ROWS

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

    from .forms import Conversion


def kept(self: Conversion, what: str, length: int, width: int) -> int:
    """How many rows of so many cells are kept."""
    most = max(1, MOST_CELLS // max(1, width))
    if what == "table":
        most = min(most, MOST_ROWS)
    if length > most:
        self.note(f"of a {what} of {length} rows the first {most} are here")
    return min(length, most)


def cells(self: Conversion, values: list[Any], depth: int) -> list[Any]:
    """A column: what is missing is null."""
    return [
        None if type(value) is float and value != value else self.plain(value, depth + 2)
        for value in values
    ]


def records(self: Conversion, names: list[Any], columns: list[list[Any]], depth: int) -> Any:
    """A table as a list of objects."""
    keys: list[str] = []
    for name in names:
        key, number = self.key(name), 0
        while key in keys:
            number += 1
            key = f"{self.key(name)}.{number}"
        keys.append(key)
    written = [cells(self, column, depth) for column in columns]
    return [dict(zip(keys, values, strict=False)) for values in zip(*written, strict=False)]


def nothing(self: Conversion, value: Any, depth: int) -> None:
    """What stands for a missing value."""


def scalar(self: Conversion, value: Any, depth: int) -> Any:
    """A numpy scalar: the same of Python's."""
    if value.dtype.kind in "mM":
        value = value.astype(f"{value.dtype.name.split('[')[0]}[us]")
    item = value.item()
    # An extended float has no other form.
    return self.plain(float(item) if type(item) is type(value) else item, depth)


def array(self: Conversion, value: Any, depth: int) -> Any:
    """A numpy array or a tensor: lists, cut along the first axis."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
    elif value.dtype.kind in "mM":
        value = value.astype(f"{value.dtype.name.split('[')[0]}[us]")
    if len(value.shape) > 0 and value.shape[0] > 0:
        width = 1
        for side in value.shape[1:]:
            width *= side
        value = value[: kept(self, "array", value.shape[0], width)]
    return self.plain(value.tolist(), depth)


def is_counted(index: Any) -> bool:
    """Whether an index only numbers the rows."""
    is_range = type(index).__name__ == "RangeIndex" and index.name is None
    return is_range and index.start == 0 and index.step == 1


def levels(index: Any) -> tuple[list[Any], list[list[Any]]]:
    """The names and the values of an index."""
    count = index.nlevels
    names = [
        name if name is not None else "index" if count == 1 else f"level_{at}"
        for at, name in enumerate(index.names)
    ]
    return names, [index.get_level_values(at).tolist() for at in range(count)]


def pandas_frame(self: Conversion, value: Any, depth: int) -> Any:
    """Records, with the index as columns unless it only numbers the rows."""
    value = value.iloc[: kept(self, "table", *value.shape)]
    names, columns = ([], []) if is_counted(value.index) else levels(value.index)
    for at, name in enumerate(value.columns):
        names.append(name)
        columns.append(value.iloc[:, at].tolist())
    return records(self, names, columns, depth)


def pandas_series(self: Conversion, value: Any, depth: int) -> Any:
    """A list if its index only numbers it, an object by its labels, or records if labels repeat."""
    value = value.iloc[: kept(self, "series", len(value), 1)]
    if is_counted(value.index):
        return cells(self, value.tolist(), depth)
    if value.index.is_unique:
        labels = [self.key(label) for label in value.index.tolist()]
        if len(set(labels)) == len(labels):
            return dict(zip(labels, cells(self, value.tolist(), depth), strict=False))
    names, columns = levels(value.index)
    name = "value" if value.name is None else value.name
    return records(self, [*names, name], [*columns, value.tolist()], depth)


def pandas_values(self: Conversion, value: Any, depth: int) -> Any:
    """An index or an extension array: a list."""
    return cells(self, value[: kept(self, "series", len(value), 1)].tolist(), depth)


def label(self: Conversion, value: Any, depth: int) -> str:
    """A period, an interval, a type of values, a geometry: its text."""
    return self.text(str(value))


def whole(self: Conversion, value: Any, depth: int) -> Any:
    """A whole number of sympy's."""
    return self.plain(int(value), depth)


def real(self: Conversion, value: Any, depth: int) -> Any:
    """A float of sympy's."""
    return self.plain(float(value), depth)


def polars_frame(self: Conversion, value: Any, depth: int) -> Any:
    """Records."""
    value = value.head(kept(self, "table", value.height, value.width))
    columns = [value[name].to_list() for name in value.columns]
    return records(self, list(value.columns), columns, depth)


def polars_series(self: Conversion, value: Any, depth: int) -> Any:
    """A list."""
    return cells(self, value.head(kept(self, "series", len(value), 1)).to_list(), depth)


def arrow_table(self: Conversion, value: Any, depth: int) -> Any:
    """Records."""
    value = value.slice(0, kept(self, "table", value.num_rows, value.num_columns))
    columns = [value.column(at).to_pylist() for at in range(value.num_columns)]
    return records(self, list(value.schema.names), columns, depth)


def arrow_array(self: Conversion, value: Any, depth: int) -> Any:
    """A list."""
    return cells(self, value.slice(0, kept(self, "series", len(value), 1)).to_pylist(), depth)


def arrow_scalar(self: Conversion, value: Any, depth: int) -> Any:
    """The same of Python's."""
    return self.plain(value.as_py(), depth)


def relation(self: Conversion, value: Any, depth: int) -> Any:
    """What a query of duckdb answers: records."""
    names = list(value.columns)
    most = max(1, min(MOST_ROWS, MOST_CELLS // max(1, len(names))))
    rows = value.limit(most + 1).fetchall()
    if len(rows) > most:
        self.note(f"of a query the first {most} rows are here")
    columns = [[line[at] for line in rows[:most]] for at in range(len(names))]
    return records(self, names, columns, depth)


def loose(self: Conversion, value: Any, depth: int) -> Any:
    """A plan that was not collected, a picture: its text says what it is."""
    return self.loose(value, depth)


FORMS = {
    ("numpy", "ndarray"): array,
    ("numpy", "generic"): scalar,
    ("numpy", "dtype"): label,
    ("torch", "Tensor"): array,
    ("pandas", "DataFrame"): pandas_frame,
    ("pandas", "Series"): pandas_series,
    ("pandas", "Index"): pandas_values,
    ("pandas", "ExtensionArray"): pandas_values,
    ("pandas", "NAType"): nothing,
    ("pandas", "NaTType"): nothing,
    ("pandas", "ExtensionDtype"): label,
    ("pandas", "Period"): label,
    ("pandas", "Interval"): label,
    ("sympy", "Integer"): whole,
    ("sympy", "Float"): real,
    ("shapely", "BaseGeometry"): label,
    ("polars", "DataFrame"): polars_frame,
    ("polars", "Series"): polars_series,
    ("polars", "LazyFrame"): loose,
    ("pyarrow", "Table"): arrow_table,
    ("pyarrow", "RecordBatch"): arrow_table,
    ("pyarrow", "Array"): arrow_array,
    ("pyarrow", "ChunkedArray"): arrow_array,
    ("pyarrow", "Scalar"): arrow_scalar,
    ("duckdb", "DuckDBPyRelation"): relation,
    ("_duckdb", "DuckDBPyRelation"): relation,
}
