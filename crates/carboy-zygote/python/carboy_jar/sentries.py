"""What is handed out in place of library functions that take names or texts."""

from __future__ import annotations

import functools
import operator

from .grants import Grants
from .refusal import NAMES, GuardError, shown
from .texts import TEXTS, check_text

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Function = Callable[..., Any]


def attrgetter(guard: Grants, real: Function) -> Function:
    """`operator.attrgetter`, whose names are checked."""

    def attrgetter(*names: Any) -> Any:
        for name in names:
            for part in name.split(".") if type(name) is str else (name,):
                guard.check_name(part)
                if part in NAMES["texts"]:
                    raise GuardError(
                        "format-traversal",
                        f"{shown(part)} is used as a value where it cannot be checked",
                        "call the method on the object",
                    )
        return real(*names)

    return attrgetter


def methodcaller(guard: Grants, real: Function) -> Function:
    """`operator.methodcaller`, whose name is checked."""

    def methodcaller(name: Any, /, *args: Any, **kwargs: Any) -> Any:
        guard.check_name(name)
        if name in NAMES["texts"]:
            return lambda value: TEXTS[name](guard, value)(*args, **kwargs)
        return real(name, *args, **kwargs)

    return methodcaller


def update_wrapper(guard: Grants, real: Function) -> Function:
    """`functools.update_wrapper`, which takes over its usual attributes only."""

    def update_wrapper(
        wrapper: Any,
        wrapped: Any,
        assigned: Iterable[str] = functools.WRAPPER_ASSIGNMENTS,
        updated: Iterable[str] = functools.WRAPPER_UPDATES,
    ) -> Any:
        # Taken once: what is checked is what is used.
        assigned, updated = tuple(assigned), tuple(updated)
        usual = {*functools.WRAPPER_ASSIGNMENTS, *functools.WRAPPER_UPDATES}
        if not all(type(name) is str and name in usual for name in (*assigned, *updated)):
            raise GuardError(
                "dunder-attribute",
                "only the usual attributes of a wrapper can be copied",
                "use functools.wraps(function)",
            )
        return functools.update_wrapper(wrapper, wrapped, assigned, updated)

    return update_wrapper


def wraps(guard: Grants, real: Function) -> Function:
    """`functools.wraps`, the same as a decorator."""
    checked = update_wrapper(guard, real)

    def wraps(
        wrapped: Any,
        assigned: Iterable[str] = functools.WRAPPER_ASSIGNMENTS,
        updated: Iterable[str] = functools.WRAPPER_UPDATES,
    ) -> Any:
        return lambda wrapper: checked(wrapper, wrapped, assigned, updated)

    return wraps


def singledispatch(guard: Grants, real: Function) -> Function:
    """`functools.singledispatch`, which reads annotations as code."""

    def singledispatch(function: Any) -> Any:
        made = real(function)
        plain = made.register

        def register(kind: Any, function: Any = None) -> Any:
            # Without a class it reads the annotations, and texts among them as code.
            for text in getattr(kind, "__annotations__", {}).values():
                if isinstance(text, str):
                    check_text(text)
            return plain(kind, function)

        made.register = register
        return made

    return singledispatch


# What is handed out in place of something else, wherever that is found.
REPLACED: dict[int, Callable[[Grants, Function], Function]] = {
    id(operator.attrgetter): attrgetter,
    id(operator.methodcaller): methodcaller,
    id(functools.update_wrapper): update_wrapper,
    id(functools.wraps): wraps,
    id(functools.singledispatch): singledispatch,
}
