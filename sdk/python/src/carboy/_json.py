"""Python values as JSON text, or an error that names what is not JSON and where.

`json.dumps` alone says nothing of where it failed. Keys that are numbers, truth values or None become
text, as they do in results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

# How deep the engine lets a value nest.
MAX_DEPTH = 100

_TEXT = frozenset({str})
_SCALARS = frozenset({str, int, float, bool, type(None)})

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class NotJson(Exception):
    """Something is not JSON. `path` says where in the value it lies, such as `["a"][3]`."""

    def __init__(self, what: str, path: str = "") -> None:
        super().__init__(what, path)
        self.what = what
        self.path = path


def encoded(value: Any, convert: Callable[[Any], Any] | None = None) -> bytes:
    """The value as JSON text. `convert` makes JSON of what is none, or returns it."""
    kept = _plain(value, convert, 0)
    try:
        return _encode(kept).encode()
    except UnicodeEncodeError:
        raise NotJson("a string with an unpaired surrogate") from None
    except (ValueError, TypeError, RecursionError) as error:
        found = _not_finite(kept, "")
        raise found if found is not None else NotJson(str(error)) from None


def _plain(value: Any, convert: Callable[[Any], Any] | None, depth: int) -> Any:
    """The value with nothing in it but what JSON has."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if depth >= MAX_DEPTH:
        raise NotJson(f"nesting deeper than {MAX_DEPTH}")
    if kind is list or kind is tuple:
        if _SCALARS.issuperset(map(type, value)):
            return value
        return [_item(item, convert, depth, index) for index, item in enumerate(value)]
    if kind is dict:
        if not _TEXT.issuperset(map(type, value)):
            value = _with_text_keys(value)
        if _SCALARS.issuperset(map(type, value.values())):
            return value
        return {key: _item(item, convert, depth, key) for key, item in value.items()}
    if convert is not None:
        converted = convert(value)
        if converted is not value:
            return _plain(converted, convert, depth + 1)
    if isinstance(value, dict):
        return _plain(dict(value), convert, depth)
    if isinstance(value, (list, tuple)):
        return _plain(list(value), convert, depth)
    if isinstance(value, (str, int, float)):
        return value
    raise NotJson(kind.__name__)


def _with_text_keys(value: dict[Any, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for key, item in value.items():
        if isinstance(key, str):
            text = key
        elif type(key) in _SCALARS:
            try:
                text = _encode(key)
            except ValueError as error:
                raise NotJson(f"a key that cannot be written: {error}") from None
        else:
            raise NotJson(f"a key that is {type(key).__name__}, not str")
        if text in made:
            raise NotJson(f"two keys that are both {text[:40]!r} in JSON")
        made[text] = item
    return made


def _item(value: Any, convert: Callable[[Any], Any] | None, depth: int, place: int | str) -> Any:
    try:
        return _plain(value, convert, depth + 1)
    except NotJson as error:
        shown = f"{place[:40]!r}" if isinstance(place, str) else str(place)
        path = f"[{shown}]{error.path}"
        raise NotJson(error.what, path if len(path) <= 200 else f"{path[:200]}…") from None


def _not_finite(value: Any, path: str) -> NotJson | None:
    """Where a float lies that JSON cannot write."""
    if isinstance(value, float) and not math.isfinite(value):
        return NotJson(f"the float {value!r}", path)
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(value)
    for place, item in items:
        found = _not_finite(item, f"{path}[{place!r}]")
        if found is not None:
            return found
    return None
