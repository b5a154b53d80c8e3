"""What the conversions of results share: bounds, and values as bounded text."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found] # `signal` in C, without its classes

from .values import clean

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, NoReturn, Protocol

    class Conversion(Protocol):
        """One result on its way to JSON, as far as a form for a type needs it."""

        def note(self, words: str) -> None:
            """Says something about the result, once."""
            ...

        def plain(self, value: Any, depth: int) -> Any:
            """The value as JSON has it."""
            ...

        def key(self, key: Any) -> str:
            """A key as text."""
            ...

        def text(self, value: str) -> str:
            """Text that any JSON reader takes."""
            ...

        def loose(self, value: object, depth: int) -> str:
            """What stands for a value that has no JSON form."""
            ...


# How many items are taken out of something that has no end of its own.
MOST_ITEMS = 10_000
# How many rows of a table, and cells of a table or an array, a result has.
MOST_ROWS, MOST_CELLS = 1_000, 20_000
# How long the text of a value may be, and how long it may take to be written.
MOST_TEXT, MOST_SECONDS = 4_000, 2.0
# The same of a value inside another one.
MOST_INSIDE = 500
NOT_AWAITED = "a coroutine was not awaited: write `await` before the call that made it"


class TooDeep(Exception):
    """A value nests deeper than any result may."""


class WithoutForm(Exception):
    """A value that JSON has no form for."""


class TookTooLong(BaseException):
    """Writing a value as text took too long."""


def joined(parts: Iterable[str]) -> str:
    """A key of several parts."""
    return ", ".join(parts)


def kind_of(value: object) -> str:
    """The type of a value by its full name."""
    kind = type(value)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return clean(f"{module}{kind.__qualname__}", 200)


def text_of(value: object, most: int) -> str:
    """How Python shows a value, bounded in time and in length, whatever its class does."""
    try:
        before = _signal.signal(_signal.SIGALRM, too_long)
    except (ValueError, OSError):
        # Not in the main thread; the limits of the run still hold.
        return shown(value, most)
    try:
        _signal.setitimer(_signal.ITIMER_REAL, MOST_SECONDS)
        text = shown(value, most)
        _signal.setitimer(_signal.ITIMER_REAL, 0)
    except TookTooLong:
        text = "(its __repr__ took too long)"
    finally:
        _signal.signal(_signal.SIGALRM, before or _signal.SIG_DFL)
    return text


def too_long(number: object, frame: object) -> NoReturn:
    """What the alarm does."""
    raise TookTooLong


def shown(value: object, most: int) -> str:
    """How Python shows a value, as far as it does."""
    try:
        return clean(repr(value), most)
    except TookTooLong:
        raise
    except BaseException:
        return "(its __repr__ failed)"
