"""Checks of what a caller passes, with words that name the parameter the caller wrote.

The engine checks too, but it speaks of its own fields.
"""

from __future__ import annotations

import math
from typing import Any

from .._errors import RequestError
from .._visible import shown

# The engine lets no run take longer, and takes no longer program.
_MOST_SECONDS = 24 * 3600
_MOST_CODE = 4 << 20


def milliseconds(name: str, seconds: Any) -> int:
    """A time in seconds as the engine takes it."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise RequestError(f"{name} must be a number of seconds, was {shown(seconds, 80)}")
    if not 0 < seconds <= _MOST_SECONDS:
        raise RequestError(
            f"{name} must be more than 0 and at most {_MOST_SECONDS} seconds, was {seconds}"
        )
    return math.ceil(seconds * 1000)


def whole_bytes(name: str, count: Any) -> int:
    """A number of bytes."""
    if isinstance(count, bool) or not isinstance(count, int):
        raise RequestError(
            f"{name} must be a whole number of bytes, was {shown(count, 80)}",
            hint="256 MiB are 256 * 1024 * 1024",
        )
    return count


def script_fault(script: Any) -> str | None:
    """Why a text can be no program, if that is seen without reading it as one.

    Whoever wrote the text must not choose which exception the host gets.
    """
    if not isinstance(script, str):
        raise RequestError(f"code must be str, not {type(script).__name__}")
    try:
        size = len(script.encode())
    except UnicodeEncodeError as error:
        return f"an unpaired surrogate at character {error.start}"
    if size > _MOST_CODE:
        return f"the code has {size} bytes, at most {_MOST_CODE} are accepted"
    return None
