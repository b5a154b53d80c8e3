"""Tables that code answered with, as frames of the caller's.

A table comes as Arrow if the policy asked for it (`Drawing(tables="arrow")`) and pyarrow is installed on both
sides. Otherwise it is made of the JSON records of the result, which have at most 1000 rows. What a guest
wrote as Arrow is validated in full before anything is made of it.
"""

from __future__ import annotations

import importlib
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
        table = ipc.open_stream(stream).read_all()
        table.validate(full=True)
    except (arrow.ArrowException, OSError, ValueError) as error:
        raise FrameError(f"the table of the code cannot be read: {error}") from None
    return table


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
