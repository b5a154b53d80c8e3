"""Results that are not JSON already, made into JSON by one table: `docs/results.md`.

All of it runs inside the walls on objects of the code's own, so it may do what the code may do, and
whatever comes of it is checked outside. It imports nothing that the code did not: a type is known by
the names of its classes.
"""

from __future__ import annotations

import binascii
import math
import types
from collections.abc import ItemsView, KeysView, Mapping, Sequence, Set, ValuesView

from .forms import (
    MOST_INSIDE,
    MOST_ITEMS,
    MOST_TEXT,
    NOT_AWAITED,
    TooDeep,
    WithoutForm,
    joined,
    kind_of,
    text_of,
)
from .tables import FORMS as TABLES
from .values import clean

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Deeper than any result may be; the engine says so.
MOST_DEPTH = 400
# How many bits a whole number may have to be written in decimal digits.
MOST_BITS = 14_000
# What is used up by looking at it, and safe to look at.
ITERATORS: tuple[type, ...] = (types.GeneratorType, map, zip, filter, enumerate, reversed)
LISTED: Any = (Sequence, KeysView, ItemsView, ValuesView, *ITERATORS)
LOOSE = "values that have no JSON form stand as text"
NOT_FINITE = "numbers that are NaN or infinite became null"
NOT_TEXT = "unpaired surrogates in text are written as \\udXXX"
SAME_KEYS = "of keys that are the same as text, the last one stands"


class Conversion:
    """One result on its way to JSON, and what is to be said about it."""

    def __init__(self) -> None:
        self.notes: dict[str, None] = {}

    def note(self, words: str) -> None:
        """Says something about the result, once."""
        self.notes.setdefault(words)

    def plain(self, value: Any, depth: int) -> Any:
        """The value as JSON has it."""
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is int:
            return value if value.bit_length() < MOST_BITS else self.loose(value, depth)
        if kind is str:
            return self.text(value)
        if kind is float:
            return self.number(value, depth)
        if depth > MOST_DEPTH:
            raise TooDeep
        if kind is list or kind is tuple:
            return [self.plain(item, depth + 1) for item in value]
        if kind is dict:
            return self.mapping(value.items(), depth)
        try:
            return self.other(value, depth)
        except (TooDeep, WithoutForm, RecursionError, MemoryError):
            raise
        except BaseException:
            # What the code's own classes do when they are looked at is no reason to fail.
            return self.loose(value, depth)

    def text(self, value: str) -> str:
        """Text that any JSON reader takes."""
        try:
            value.encode()
        except UnicodeEncodeError:
            self.note(NOT_TEXT)
            return value.encode("utf-8", "backslashreplace").decode()
        return value

    def number(self, value: float, depth: int) -> float | None:
        """A number, if JSON has it."""
        if math.isfinite(value):
            return value
        self.note(NOT_FINITE)
        if depth == 0:
            raise WithoutForm
        return None

    def loose(self, value: object, depth: int) -> str:
        """What stands for a value that has no JSON form, inside another one."""
        if depth == 0:
            raise WithoutForm
        self.note(NOT_AWAITED if isinstance(value, types.CoroutineType) else LOOSE)
        return text_of(value, MOST_INSIDE)

    def key(self, key: Any) -> str:
        """A key as text, as the `json` module writes it where it does."""
        if isinstance(key, str):
            return self.text(str.__str__(key))
        if key is None:
            return "null"
        if isinstance(key, (bool, float)):
            return str(float(key)) if isinstance(key, float) else str(key).lower()
        if isinstance(key, tuple):
            return joined(self.key(part) for part in key)
        value = self.plain(key, 1)
        return value if isinstance(value, str) else clean(value, 200)

    def mapping(self, items: Iterable[tuple[Any, Any]], depth: int) -> dict[str, Any]:
        """An object, with text for keys."""
        made, count = {}, 0
        for key, value in items:
            made[self.key(key)] = self.plain(value, depth + 1)
            count += 1
        if len(made) < count:
            self.note(SAME_KEYS)
        return made

    def items(self, value: Iterable[Any], depth: int) -> list[Any]:
        """A list of what comes out of something, up to a bound."""
        made: list[Any] = []
        for item in value:
            if len(made) == MOST_ITEMS:
                self.note(f"of a sequence only the first {MOST_ITEMS} items are here")
                break
            made.append(self.plain(item, depth + 1))
        return made

    def other(self, value: Any, depth: int) -> Any:
        """What is none of JSON's own types."""
        form = form_of(type(value))
        if form is not None:
            return form(self, value, depth)
        # Subclasses of what JSON has are what they are a subclass of.
        for kind, exactly in EXACTLY:
            if isinstance(value, kind):
                return self.plain(exactly(value), depth)
        if hasattr(type(value), "__dataclass_fields__"):
            names = type(value).__dataclass_fields__
            return self.mapping(((name, getattr(value, name)) for name in names), depth)
        if hasattr(type(value), "__attrs_attrs__"):
            names = [attribute.name for attribute in type(value).__attrs_attrs__]
            return self.mapping(((name, getattr(value, name)) for name in names), depth)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return binascii.b2a_base64(value, newline=False).decode()
        if isinstance(value, Set) and not isinstance(value, (KeysView, ItemsView)):
            return self.items(in_order(value), depth)
        if isinstance(value, Mapping):
            return self.mapping(value.items(), depth)
        if isinstance(value, LISTED):
            return self.items(value, depth)
        return self.loose(value, depth)


# By which of JSON's own types a subclass is written.
EXACTLY: tuple[tuple[type, Any], ...] = (
    (int, int.__int__),
    (float, float.__float__),
    (str, str.__str__),
    (list, list),
    (tuple, tuple),
    (dict, dict),
)


def in_order(value: Set[Any]) -> Iterable[Any]:
    """The members of a set, sorted if they can be: two runs should answer the same."""
    try:
        return sorted(value)
    except Exception:
        return value


def form_of(kind: type) -> Any:
    """The form for a class, by its name or the name of one that it inherits from."""
    for base in kind.__mro__[:-1]:
        module = base.__module__
        root = module.partition(".")[0] if isinstance(module, str) else ""
        form = FORMS.get((root, base.__name__)) or FORMS.get((root, "*"))
        if form is not None:
            return form
    return None


def as_text(self: Conversion, value: Any, depth: int) -> str:
    """Written by its own `str`, which says all of it."""
    return self.text(str(value))


def iso(self: Conversion, value: Any, depth: int) -> str:
    """A date or a time, by ISO 8601."""
    return self.text(value.isoformat())


def seconds(self: Conversion, value: Any, depth: int) -> Any:
    """A duration in seconds."""
    return self.plain(value.total_seconds(), depth)


def member(self: Conversion, value: Any, depth: int) -> Any:
    """A member of an enumeration: its value."""
    return self.plain(value.value, depth)


def model(self: Conversion, value: Any, depth: int) -> Any:
    """A pydantic model: what it dumps."""
    dump = getattr(value, "model_dump", None) or value.dict
    return self.plain(dump(), depth)


def namespace(self: Conversion, value: Any, depth: int) -> Any:
    """Its attributes."""
    return self.mapping(vars(value).items(), depth)


def listed(self: Conversion, value: Any, depth: int) -> Any:
    """A list of its items."""
    return self.items(value, depth)


def row(self: Conversion, value: Any, depth: int) -> Any:
    """A row of a database, by the names of its columns."""
    return self.mapping(zip(value.keys(), value, strict=False), depth)


def figure(self: Conversion, value: Any, depth: int) -> Any:
    """Something that is drawn: a file is its form."""
    self.note("a figure has no JSON form; as the answer it is shown, and stands in `displays`")
    if depth == 0:
        raise WithoutForm
    return text_of(value, MOST_INSIDE)


# A class by the root of its module and its name, or all classes of a module.
FORMS = {
    ("datetime", "datetime"): iso,
    ("datetime", "date"): iso,
    ("datetime", "time"): iso,
    ("datetime", "timedelta"): seconds,
    ("decimal", "Decimal"): as_text,
    ("fractions", "Fraction"): as_text,
    ("builtins", "complex"): as_text,
    ("uuid", "UUID"): as_text,
    ("pathlib", "PurePath"): as_text,
    ("ipaddress", "_IPAddressBase"): as_text,
    ("enum", "Enum"): member,
    ("types", "SimpleNamespace"): namespace,
    ("argparse", "Namespace"): namespace,
    ("array", "array"): listed,
    ("collections", "deque"): listed,
    ("itertools", "*"): listed,
    ("sqlite3", "Row"): row,
    ("pydantic", "BaseModel"): model,
    ("matplotlib", "*"): figure,
    ("plotly", "BaseFigure"): figure,
    **TABLES,
}


def converted(value: Any) -> dict[str, Any]:
    """What the last frame says of a result: its JSON form if it has one, its type, its text, a note."""
    conversion = Conversion()
    said: dict[str, Any] = {}
    try:
        said["result"] = conversion.plain(value, 0)
    except WithoutForm:
        said["text"] = text_of(value, MOST_TEXT)
        if isinstance(value, types.CoroutineType):
            conversion.notes = {NOT_AWAITED: None}
        elif not conversion.notes:
            conversion.note("the result has no JSON form; its text is how Python shows it")
    if type(value) not in (bool, int, str, list, tuple, dict):
        said["type"] = kind_of(value)
    if conversion.notes:
        said["note"] = clean("; ".join(conversion.notes), 500)
    return said
