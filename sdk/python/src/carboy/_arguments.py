"""Checks what guest code passes to a tool, before the tool sees it.

The values are JSON and hostile. They are bound to the tool's parameters and compared with its
annotations; a mismatch is told to the code in words it can act on.
"""

from __future__ import annotations

from inspect import BoundArguments, Parameter, Signature
from typing import Any

from ._annotations import ANY, Field, Kind, fields_of, kind_of
from ._visible import beginning, one_line


class Mismatch(Exception):
    """The code called a tool with arguments that it does not take."""


class _Wrong(Exception):
    """A value is not what it must be; `path` says where it lies in the argument.

    It is `near` if the value is of the right shape and only something in it is wrong.
    """

    def __init__(self, path: str, must: str, near: bool = False) -> None:
        super().__init__(path, must)
        self.path = path
        self.must = must
        self.near = near or bool(path)


class Parameters:
    """What a tool takes."""

    def __init__(self, tool: str, signature: Signature, hidden: frozenset[str]) -> None:
        self._tool = tool
        self._signature = signature
        self._hidden = hidden
        self._kinds = {
            name: (parameter.kind, kind_of(parameter.annotation))
            for name, parameter in signature.parameters.items()
        }

    def bind(self, args: list[Any], kwargs: dict[str, Any]) -> BoundArguments:
        """The arguments in their places, each what its annotation says."""
        work = Work(args, kwargs)
        taken = self._hidden.intersection(kwargs)
        if taken:
            raise Mismatch(f"{self._tool}: got an unexpected keyword argument {min(taken)!r}")
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise Mismatch(f"{self._tool}: {one_line(str(error), 300)}") from None
        arguments = bound.arguments
        for name, value in arguments.items():
            place, kind = self._kinds[name]
            if kind is ANY:
                continue
            if place is Parameter.VAR_POSITIONAL:
                items = [
                    self._fit(f"{name}[{at}]", item, kind, work) for at, item in enumerate(value)
                ]
                arguments[name] = tuple(items)
            elif place is Parameter.VAR_KEYWORD:
                arguments[name] = {
                    key: self._fit(key, item, kind, work) for key, item in value.items()
                }
            else:
                arguments[name] = self._fit(name, value, kind, work)
        return bound

    def _fit(self, name: str, value: Any, kind: Kind, work: Work) -> Any:
        try:
            return fit(value, kind, work)
        except _Wrong as wrong:
            path = one_line(f"{name}{wrong.path}", 200)
            raise Mismatch(f"{self._tool}: `{path}` must {wrong.must}") from None
        except RecursionError:
            raise Mismatch(f"{self._tool}: `{one_line(name, 200)}` nests too deep") from None
        except _TooMuch:
            raise Mismatch(
                f"{self._tool}: `{one_line(name, 200)}` takes too long to check"
            ) from None


class _TooMuch(Exception):
    """A value was made to be checked for ever."""


class Work:
    """How much may be done for one call.

    Where a type is one of several, each may have to be tried, at every level. So the work could grow
    with a power of the depth, and the code chooses the depth.
    """

    def __init__(self, args: list[Any], kwargs: dict[str, Any]) -> None:
        self._left = 1_000 + 20 * _size([args, kwargs])

    def spend(self) -> None:
        """One value more is looked at."""
        self._left -= 1
        if self._left < 0:
            raise _TooMuch


def _size(value: Any) -> int:
    """How many values there are in a value."""
    count, left = 0, [value]
    while left:
        one = left.pop()
        count += 1
        if type(one) is list:
            left += one
        elif type(one) is dict:
            left += one.values()
    return count


_SCALARS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "none": (type(None),),
}


def fit(value: Any, kind: Kind, work: Work) -> Any:
    """The value as the annotation wants it."""
    work.spend()
    shape = kind.shape
    scalars = _SCALARS.get(shape)
    if scalars is not None:
        if type(value) not in scalars:
            raise _not(value, kind)
        return value
    if shape == "any":
        return value
    if shape == "list":
        if type(value) is not list:
            raise _not(value, kind)
        return [_item(item, kind.parts[0], f"[{at}]", work) for at, item in enumerate(value)]
    if shape == "set":
        if type(value) is not list:
            raise _Wrong("", f"be a list ({kind.spelling}), not {_name(value)}")
        items = [_item(item, kind.parts[0], f"[{at}]", work) for at, item in enumerate(value)]
        try:
            return kind.source(items)
        except TypeError:
            raise _Wrong("", f"be {kind.spelling}: lists and dicts cannot be in a set") from None
    if shape == "dict":
        if type(value) is not dict:
            raise _not(value, kind)
        key_kind, item_kind = kind.parts
        return {
            _item(key, key_kind, "", work): _item(item, item_kind, f"[{key[:40]!r}]", work)
            for key, item in value.items()
        }
    return _OTHERS[shape](value, kind, work)


def _tuple(value: Any, kind: Kind, work: Work) -> Any:
    if type(value) is not list:
        raise _not(value, kind)
    if not kind.values:
        return tuple(_item(item, kind.parts[0], f"[{at}]", work) for at, item in enumerate(value))
    if len(value) != kind.values[0]:
        raise _Wrong("", f"be {kind.spelling}, not a list of {len(value)}")
    pairs = enumerate(zip(value, kind.parts, strict=True))
    return tuple(_item(item, part, f"[{at}]", work) for at, (item, part) in pairs)


def _union(value: Any, kind: Kind, work: Work) -> Any:
    nearest: _Wrong | None = None
    for part in kind.parts:
        try:
            return fit(value, part, work)
        except _Wrong as wrong:
            # Who got the outside right wants to know what is wrong inside.
            if wrong.near and nearest is None:
                nearest = wrong
    raise nearest if nearest is not None else _not(value, kind)


def _literal(value: Any, kind: Kind, work: Work) -> Any:
    for choice in kind.values:
        if type(choice) is type(value) and choice == value:
            return choice
    raise _choice(value, kind.values)


def _enum(value: Any, kind: Kind, work: Work) -> Any:
    members = list(kind.source)
    for member in members:
        if type(member.value) is type(value) and member.value == value:
            return member
    raise _choice(value, [member.value for member in members])


def _record(value: Any, kind: Kind, work: Work) -> Any:
    if type(value) is not dict:
        raise _Wrong("", f"be an object ({kind.spelling}), not {_name(value)}")
    fields = {field.name: field for field in fields_of(kind.source)}
    for name in value:
        if name not in fields:
            known = beginning(", ".join(fields), 300)
            must = f"have no key {one_line(name, 40)!r}; {kind.spelling} has {known}"
            raise _Wrong("", must, near=True)
    for field in fields.values():
        if field.required and field.name not in value:
            raise _Wrong("", f"have the key {field.name!r}", near=True)
    # What is quickly told apart comes first, whatever order the code chose.
    names = sorted(value, key=lambda name: fields[name].kind().shape not in _QUICK)
    checked = {name: _member(value[name], fields[name], work) for name in names}
    made = {name: checked[name] for name in value}
    make: Any = kind.source
    if not hasattr(make, "__dataclass_fields__"):
        return made
    try:
        return make(**made)
    except Exception as error:
        must = f"make a {kind.spelling}; that failed ({type(error).__name__})"
        raise _Wrong("", must, near=True) from None


def _member(value: Any, field: Field, work: Work) -> Any:
    return _item(value, field.kind(), f".{field.name}", work)


_QUICK = (*_SCALARS, "literal", "enum")


_OTHERS = {
    "tuple": _tuple,
    "union": _union,
    "literal": _literal,
    "enum": _enum,
    "record": _record,
}


def _item(value: Any, kind: Kind, step: str, work: Work) -> Any:
    if kind is ANY:
        return value
    try:
        return fit(value, kind, work)
    except _Wrong as wrong:
        raise _Wrong(f"{step}{wrong.path}"[:200], wrong.must) from None


def _name(value: Any) -> str:
    return "None" if value is None else type(value).__name__


def _not(value: Any, kind: Kind) -> _Wrong:
    return _Wrong("", f"be {kind.spelling.replace(' | ', ' or ')}, not {_name(value)}")


def _choice(value: Any, choices: Any) -> _Wrong:
    shown = beginning(", ".join(map(repr, choices)), 300)
    is_scalar = isinstance(value, (str, int, float)) or value is None
    was = one_line(repr(value), 40) if is_scalar else _name(value)
    return _Wrong("", f"be one of {shown}, not {was}")
