"""The runtime half of the guard: what the text of a program cannot show.

It runs beside the code that it watches, in the same interpreter. It is advice that is given late,
and a second layer; the walls do not need it.

Code under a profile finds its own builtins: those that the profile grants, with sentries for the
ones that take names or texts. Modules are handed out as faces.
"""

from __future__ import annotations

import builtins
from types import ModuleType

from .faces import MISSING, Faces
from .language import TABLES
from .refusal import NAMES, GuardError, not_handed_out, shown
from .texts import TEXTS

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

ERRORS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, BaseException)
}


class Guard(Faces):
    """What one profile grants, and the sentries that see to it."""

    # The one that this jar is under.
    used: Guard | None = None

    def __init__(self, profile: str) -> None:
        super().__init__(profile)
        granted = TABLES["profiles"][profile]["builtins"]
        self.builtins: dict[str, Any] = {
            **ERRORS,
            **{name: getattr(builtins, name) for name in granted if hasattr(builtins, name)},
            **sentries(self),
            "__build_class__": builtins.__build_class__,
            "__name__": "builtins",
        }


def sentries(guard: Faces) -> dict[str, Callable[..., Any]]:
    """The builtins that stand in for those that take names."""

    def getattr_(value: Any, name: Any, default: Any = MISSING, /) -> Any:
        guard.check_name(name, value)
        if name in NAMES["texts"]:
            if default is not MISSING and not hasattr(value, name):
                return default
            return TEXTS[name](guard, value)
        if default is MISSING:
            return guard.give(getattr(value, name))
        return guard.give(getattr(value, name, default))

    def hasattr_(value: Any, name: Any, /) -> bool:
        guard.check_name(name, value)
        return hasattr(value, name)

    def setattr_(value: Any, name: Any, new: Any, /) -> None:
        guard.check_change(name, value)
        setattr(value, name, new)

    def delattr_(value: Any, name: Any, /) -> None:
        guard.check_change(name, value)
        delattr(value, name)

    def import_(
        name: Any, space: Any = None, local: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if type(fromlist) is list:
            # Not a statement, which has a tuple: a library in C imports what it needs.
            return __import__(name, space, local, fromlist, level)
        if type(name) is not str or level:
            raise GuardError(
                "relative-import",
                "relative import, but the program is not part of a package",
                "import the module by its full name",
            )
        return imported(guard, name, fromlist or ())

    made: dict[str, Callable[..., Any]] = {
        "getattr": getattr_,
        "hasattr": hasattr_,
        "setattr": setattr_,
        "delattr": delattr_,
        "__import__": import_,
    }
    if hasattr(builtins, "__lazy_import__"):
        # What is imported lazily is checked, and so imported, where the statement stands.
        made["__lazy_import__"] = lambda *given, **named: import_(*given, **named)
    for name, sentry in made.items():
        sentry.__name__ = sentry.__qualname__ = name
    for name, of_text in TEXTS.items():
        made[f"__carboy_{name}__"] = lambda value, sentry=of_text: sentry(guard, value)
    return made


def imported(guard: Faces, name: str, wanted: tuple[str, ...]) -> ModuleType:
    """What an import statement binds: the face of the module, or of the package it begins with."""
    if not guard.reaches(name):
        guard.refuse_import(name)
    real = __import__(name, None, None, ("__name__",))
    face = guard.face(real, name)
    for part in wanted:
        if part not in face.__dict__:
            guard.want(real, face, name, part)
    if wanted:
        return face
    # `import a.b.c` binds `a`, and finds the others below it.
    while "." in name:
        name, _, last = name.rpartition(".")
        above = guard.face(__import__(name, None, None, ("__name__",)), name)
        above.__dict__[last] = face
        face = above
    return face


def named_by_guard(error: BaseException) -> GuardError | None:
    """The refusal behind an error that the interpreter raised itself, because a name is not there."""
    guard = Guard.used
    name = getattr(error, "name", None)
    if guard is None or type(name) is not str:
        return None
    if type(error) is AttributeError and id(error.obj) in guard.handed:
        real, path = guard.handed[id(error.obj)]
        if hasattr(real, name):
            return not_handed_out(path, name)
    if type(error) is NameError and name not in guard.builtins and hasattr(builtins, name):
        return GuardError(
            "blocked-builtin",
            f"the builtin {shown(name)} is not allowed by this profile",
            "remove it",
        )
    return None


GUARDS = {profile: Guard(profile) for profile in TABLES["profiles"]}


def guarded(frame: dict[str, Any]) -> Guard:
    """The guard of a job: its profile with what the job adds."""
    guard = GUARDS[frame["profile"]]
    guard.imports = tuple(frame.get("imports", ()))
    guard.own = frozenset(frame.get("own", ()))
    Guard.used = guard
    return guard
