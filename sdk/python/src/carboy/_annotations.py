"""Annotations of a tool's parameters, taken apart once for all that reads them.

Checks, signatures and schemas must agree on what `Optional[list[str]]` means. So it is found out
here, and they see one small tree.
"""

from __future__ import annotations

import builtins
import collections.abc
import dataclasses
import enum
import inspect
import sys
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

_SCALARS: dict[Any, str] = {str: "str", int: "int", float: "float", bool: "bool"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Collection, collections.abc.Iterable)
_SETS = (set, frozenset, collections.abc.Set, collections.abc.MutableSet)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS = (typing.Union, types.UnionType)
_MARKS = ("Required", "NotRequired", "ReadOnly")


@dataclass(frozen=True)
class Field:
    """One key of a record."""

    name: str
    kind: Callable[[], Kind]
    required: bool


@dataclass(frozen=True)
class Kind:
    """What a value must be."""

    shape: str
    """`any`, `none`, `str`, `int`, `float`, `bool`, `list`, `set`, `dict`, `tuple`, `union`,
    `literal`, `enum` or `record`."""
    spelling: str
    parts: tuple[Kind, ...] = ()
    values: tuple[Any, ...] = ()
    source: Any = None
    """The class of an `enum`, a `record` or a `set`."""
    note: str = ""
    """The first text of an `Annotated`."""


ANY = Kind("any", "Any")
NONE = Kind("none", "None")


def kind_of(annotation: Any) -> Kind:
    """The tree of one annotation. What is not known here lets anything pass."""
    if annotation is inspect.Parameter.empty or annotation in (Any, object):
        return ANY
    if annotation is None or annotation is type(None):
        return NONE
    if isinstance(annotation, str):
        return Kind("any", annotation)
    scalar = _scalar(annotation)
    if scalar is not None:
        return scalar
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        notes = [note for note in arguments[1:] if isinstance(note, str)]
        return dataclasses.replace(kind_of(arguments[0]), note=notes[0] if notes else "")
    if _mark(origin) in _MARKS:
        return kind_of(arguments[0])
    if origin in _UNIONS:
        return _union(arguments)
    if origin is typing.Literal:
        spelling = f"Literal[{', '.join(map(repr, arguments))}]"
        return Kind("literal", spelling, values=arguments)
    if origin is tuple or annotation is tuple:
        return _tuple(annotation, arguments)
    if (origin or annotation) in _LISTS:
        item = kind_of(arguments[0]) if arguments else ANY
        return Kind("list", _generic(annotation, item), (item,))
    if (origin or annotation) in _SETS:
        item = kind_of(arguments[0]) if arguments else ANY
        made = frozenset if (origin or annotation) is frozenset else set
        return Kind("set", _generic(annotation, item), (item,), source=made)
    if (origin or annotation) in _DICTS:
        parts = tuple(map(kind_of, arguments)) if len(arguments) == 2 else (ANY, ANY)
        shown = parts if arguments else ()
        return Kind("dict", _generic(annotation, *shown), parts)
    return _other(annotation)


def _mark(origin: Any) -> str:
    """The name of what marks a key. It may be from another module than `typing`."""
    return str(origin).rpartition(".")[2]


def _is_typed_dict(annotation: Any) -> bool:
    if not isinstance(annotation, type) or not hasattr(annotation, "__required_keys__"):
        return False
    return issubclass(annotation, dict)


def _scalar(annotation: Any) -> Kind | None:
    try:
        name = _SCALARS.get(annotation)
    except TypeError:  # It has no hash.
        return None
    return None if name is None else Kind(name, name)


def _union(arguments: Sequence[Any]) -> Kind:
    parts = tuple(map(kind_of, arguments))
    if any(part.shape == "any" and part.spelling == "Any" for part in parts):
        return ANY
    # JSON never is what is not known here, so among others that cannot be meant.
    known = tuple(part for part in parts if part.shape != "any")
    if any(part is not NONE for part in known):
        parts = known
    return Kind("union", " | ".join(part.spelling for part in parts), parts)


def _tuple(annotation: Any, arguments: Sequence[Any]) -> Kind:
    if annotation in (tuple, typing.Tuple):
        return Kind("tuple", "tuple", (ANY,))
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        item = kind_of(arguments[0])
        return Kind("tuple", f"tuple[{item.spelling}, ...]", (item,))
    parts = tuple(kind_of(argument) for argument in arguments if argument != ())
    inside = ", ".join(part.spelling for part in parts) or "()"
    # `values` holds the length of one whose every place has a kind of its own.
    return Kind("tuple", f"tuple[{inside}]", parts, values=(len(parts),))


def _other(annotation: Any) -> Kind:
    if hasattr(annotation, "__supertype__"):  # NewType
        return kind_of(annotation.__supertype__)
    if type(annotation).__name__ == "TypeAliasType":
        return kind_of(annotation.__value__)
    if isinstance(annotation, type):
        if issubclass(annotation, enum.Enum):
            return Kind("enum", annotation.__name__, source=annotation)
        if dataclasses.is_dataclass(annotation) or _is_typed_dict(annotation):
            return Kind("record", annotation.__name__, source=annotation)
        return Kind("any", annotation.__name__)
    return Kind("any", str(annotation).replace("typing.", ""))


def _generic(annotation: Any, *parts: Kind) -> str:
    origin = typing.get_origin(annotation) or annotation
    name = getattr(annotation, "__name__", None) or origin.__name__
    if not typing.get_args(annotation):
        return str(name)
    return f"{name}[{', '.join(part.spelling for part in parts)}]"


class Unresolved(Exception):
    """An annotation is a text that means nothing here; `name` is whose."""

    def __init__(self, name: str, why: Exception) -> None:
        super().__init__(f"{type(why).__name__}: {why}")
        self.name = name


def hints_of(source: Any) -> dict[str, Any]:
    """The annotations of a function or class, texts resolved.

    A check that cannot be made must not pass for one that was: `Unresolved` if a text means nothing.
    What a function returns is not checked, and may mean nothing.
    """
    try:
        return typing.get_type_hints(source, include_extras=True)
    except Exception:  # Whatever stands in an annotation is run here.
        pass
    found: dict[str, Any] = {}
    for holder in reversed(source.__mro__) if isinstance(source, type) else [source]:
        space = (
            vars(sys.modules.get(holder.__module__, builtins)) if isinstance(source, type) else {}
        )
        space = space or getattr(holder, "__globals__", {})
        for name, annotation in inspect.get_annotations(holder).items():
            one = types.SimpleNamespace(__annotations__={name: annotation})
            try:
                found.update(typing.get_type_hints(one, space, include_extras=True))
            except Exception as error:
                if name != "return":
                    raise Unresolved(name, error) from None
                found[name] = annotation
    return found


_RECORDS: dict[Any, tuple[Field, ...]] = {}


def fields_of(source: Any) -> tuple[Field, ...]:
    """The keys of a record. Found when first asked for, because a record may hold itself."""
    if source not in _RECORDS:
        hints = hints_of(source)
        if _is_typed_dict(source):
            _RECORDS[source] = tuple(_keys(source, hints))
        else:
            _RECORDS[source] = tuple(
                Field(
                    field.name,
                    _later(hints.get(field.name, Any)),
                    field.default is dataclasses.MISSING
                    and field.default_factory is dataclasses.MISSING,
                )
                for field in dataclasses.fields(source)
                if field.init
            )
    return _RECORDS[source]


def _keys(source: Any, hints: Mapping[str, Any]) -> collections.abc.Iterator[Field]:
    for name, hint in hints.items():
        mark = _mark(typing.get_origin(hint))
        required = name in source.__required_keys__
        # The class does not know of marks that were text when it was made.
        if mark in ("Required", "NotRequired"):
            required = mark == "Required"
        yield Field(name, _later(hint), required)


def _later(annotation: Any) -> Callable[[], Kind]:
    found: list[Kind] = []

    def kind() -> Kind:
        if not found:
            found.append(kind_of(annotation))
        return found[0]

    return kind
