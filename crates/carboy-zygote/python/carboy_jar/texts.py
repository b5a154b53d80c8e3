"""Strings that are more than text: format strings, and queries that a library evaluates as code.

The methods that read them are `NAMES["texts"]`. Where the string is not a literal of the program,
the guard has replaced the method with a sentry, which checks the string when it is used.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found] # what `string.Formatter` is made of
import collections
import re
import sys

from .grants import Grants
from .refusal import NAMES, GuardError, is_dunder, shown

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Sentry = Callable[[Grants, Any], Any]


WORDS = re.compile(r"(\.[\s\\]*)?(\w+)")
# What Python reads as an underscore.
UNDERSCORES = re.compile(f"[{''.join(NAMES['underscores'])}]")


def check_text(text: str) -> None:
    """Refuses a string that is evaluated as code and uses a private or special name."""
    text = str.__str__(text)
    if UNDERSCORES.search(text) or any(reaches_out(*found) for found in WORDS.findall(text)):
        raise GuardError(
            "text-code",
            "the string is evaluated as code and uses a private or special name",
            "use plain names and public attributes in it, or write it as Python code",
        )


def reaches_out(dot: str, word: str) -> bool:
    """Whether a word is a name of the interpreter's own, or an attribute that is not for everybody."""
    hidden = word[0] == "_" or not word.isascii() or word in NAMES["interpreter"]
    return is_dunder(word) or bool(dot and hidden)


def check_format(own: frozenset[str], text: str, depth: int = 2) -> None:
    """Refuses a format string whose fields read attributes that are not allowed."""
    for _, field, spec, _ in _string.formatter_parser(text):
        if field is None:
            continue
        for is_attribute, name in _string.formatter_field_name_split(field)[1]:
            private = is_attribute and name[:1] == "_" and name not in own
            if private or (is_attribute and name in NAMES["interpreter"]):
                raise GuardError(
                    "format-traversal",
                    f"the format string reads the attribute {shown(name)}",
                    "format the value itself: '{}'.format(x.name)",
                )
        if spec and depth:
            check_format(own, spec, depth - 1)


def formatting(name: str) -> Sentry:
    """The sentry for `.format` or `.format_map` of something."""
    plain, wrapped = getattr(str, name), getattr(collections.UserString, name)

    def sentry(guard: Grants, value: Any) -> Any:
        if type(value) is super:
            value = self_of(value)
        # A class with its own method of this name does not read a format string.
        method = getattr(type(value), name, None)
        if isinstance(value, str) and method is plain:
            text = str.__str__(value)
        elif isinstance(value, collections.UserString) and method is wrapped:
            text = value.data
        elif isinstance(value, type) and getattr(value, name, None) in (plain, wrapped):
            # Unbound: the text comes first.
            return lambda text, *args, **kwargs: sentry(guard, text)(*args, **kwargs)
        else:
            return guard.give(getattr(value, name))

        def checked(*args: Any, **kwargs: Any) -> Any:
            if type(text) is not str:
                raise TypeError("the format string must be a str")
            check_format(guard.own, text)
            return plain(text, *args, **kwargs)

        return checked

    return sentry


def self_of(value: Any) -> Any:
    """What `super()` stands for. Its own method may be another's; the text is that of the object."""
    value = value.__self__
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, collections.UserString):
        return collections.UserString(value.data)
    if isinstance(value, type):
        return str if issubclass(value, str) else collections.UserString
    return value


def plain_text(value: Any) -> Any:
    """The value, checked and plain if it is a text."""
    if not isinstance(value, str):
        return value
    value = str.__str__(value)
    check_text(value)
    return value


def querying(name: str) -> Sentry:
    """The sentry for `.query` or `.eval` of something: pandas reads the text as code."""

    def sentry(guard: Grants, value: Any) -> Any:
        method = guard.give(getattr(value, name))
        if not callable(method):
            return method
        pandas = sys.modules.get("pandas")
        owner = value if isinstance(value, type) else type(value)
        reads_frames = pandas and issubclass(owner, pandas.DataFrame)

        def checked(*args: Any, **kwargs: Any) -> Any:
            # What is checked is what is used: a text of a class of its own may change.
            args = tuple(plain_text(value) for value in args)
            kwargs = {name: plain_text(value) for name, value in kwargs.items()}
            if reads_frames:
                if "level" in kwargs:
                    raise GuardError(
                        "text-code",
                        "the query reads variables of another frame than its caller's",
                        "refer to variables with `@name`, without `level` or `**`",
                    )
                # It looks in the frame that called it, which is one further away.
                kwargs["level"] = 1
            return method(*args, **kwargs)

        return checked

    return sentry


TEXTS: dict[str, Sentry] = {
    "format": formatting("format"),
    "format_map": formatting("format_map"),
    "query": querying("query"),
    "eval": querying("eval"),
}
