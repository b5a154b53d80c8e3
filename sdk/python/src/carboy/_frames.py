"""Tables that code answered with, as frames of the caller's.

A table comes as Arrow if the policy asked for it (`Drawing(tables="arrow")`) and pyarrow is installed on both
sides. Otherwise it is made of the JSON records of the result, which have at most 1000 rows. What a guest
wrote as Arrow is validated in full before anything is made of it.
"""

from __future__ import annotations

import importlib
import struct
from collections.abc import Callable
from typing import Any, Literal

from ._errors import CarboyError
from ._record import Record

Library = Literal["pandas", "polars", "pyarrow"]

_LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")


class FrameError(CarboyError, ValueError):
    """There is no table in the outcome, or nothing to read it with."""


def frame_of(outcome: Record, library: Library | None) -> Any:
    """The table that the code answered with."""
    chosen = library or _library(outcome)
    if chosen not in _LIBRARIES:
        raise FrameError(f"library must be one of {', '.join(_LIBRARIES)}, was {chosen!r}")
    stream = next((one.arrow for one in reversed(outcome.displays) if one.arrow is not None), None)
    arrow = _installed("pyarrow")
    if stream is not None and arrow is not None:
        return _OF_ARROW[chosen](_read(arrow, stream))
    records = outcome.result
    if not isinstance(records, list) or not all(isinstance(row, dict) for row in records):
        raise FrameError(
            f"the answer is no table but {outcome.result_type or type(records).__name__}"
        )
    made = _needed(chosen)
    return made.Table.from_pylist(records) if chosen == "pyarrow" else made.DataFrame(records)


def _library(outcome: Record) -> Library:
    """The one that the code used, or one that is installed."""
    used = (outcome.result_type or "").partition(".")[0]
    known = [name for name in _LIBRARIES if name == used]
    installed = [name for name in _LIBRARIES if _installed(name) is not None]
    return next(iter(known or installed), "pandas")


def _read(arrow: Any, stream: bytes) -> Any:
    ipc = importlib.import_module("pyarrow.ipc")
    try:
        for message in ipc.MessageReader.open_stream(stream):
            if _is_compressed(message.metadata.to_pybytes()):
                raise FrameError("the table of the code is compressed, which `Drawing` never makes")
        reader = ipc.open_stream(stream)
        if any(isinstance(one.type, arrow.BaseExtensionType) for one in reader.schema):
            raise FrameError("the table of the code has types of its own making")
        table = reader.read_all()
        # A cell takes a bit at least. Columns that take nothing could have any number of rows.
        if table.num_rows * max(table.num_columns, 1) > 8 * len(stream):
            raise FrameError("the table of the code has more cells than it has bytes for")
        table.validate(full=True)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise FrameError(f"the table of the code cannot be read: {error}") from None
    return table


def _is_compressed(metadata: bytes) -> bool:
    """Whether the buffers of a message are compressed: unpacked, they could have any size."""

    def field(table: int, number: int) -> int:
        vtable = table - struct.unpack_from("<i", metadata, table)[0]
        size = struct.unpack_from("<H", metadata, vtable)[0]
        at = 4 + 2 * number
        offset = struct.unpack_from("<H", metadata, vtable + at)[0] if at < size else 0
        return table + offset if offset else 0

    try:
        message = struct.unpack_from("<I", metadata, 0)[0]
        kind, header = field(message, 1), field(message, 2)
        # Of the kinds of messages, 3 is a batch of records, and 2 one for a dictionary, with a batch in it.
        number = metadata[kind] if kind else 0
        if not header or number not in (2, 3):
            return False
        batch = header + struct.unpack_from("<I", metadata, header)[0]
        if number == 2:
            inner = field(batch, 1)
            batch = inner + struct.unpack_from("<I", metadata, inner)[0]
        return field(batch, 3) != 0
    except (struct.error, IndexError):
        return True


def _installed(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _needed(name: str) -> Any:
    found = _installed(name)
    if found is None:
        raise FrameError(f"{name} is not installed here: install it, or name another library")
    return found


_OF_ARROW: dict[str, Callable[[Any], Any]] = {
    "pandas": lambda table: _needed("pandas") and table.to_pandas(),
    "polars": lambda table: _needed("polars").from_arrow(table),
    "pyarrow": lambda table: table,
}
