"""Changes to library modules, for what neither the source of a program nor a face shows.

A library may format a string that code gave it, or read names from an object that code can change.
A jar runs one job, so nothing else sees these changes. They are made when guarded code imports
anything, for the modules that are loaded by then: a library may have loaded them.
"""

from __future__ import annotations

import sys

from .grants import Grants
from .refusal import GuardError
from .texts import check_format

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def keep_field_names(guard: Grants, dataclasses: Any) -> None:
    """Lets the name of a field be set once: derived classes copy it into `__match_args__`."""
    slot = dataclasses.Field.name

    def set_name(field: Any, name: Any) -> None:
        known = getattr_slot(slot, field)
        if known is not None and known != name:
            raise GuardError(
                "dynamic-type",
                "the name of a dataclass field cannot be changed",
                "write a class with the field that you need",
            )
        slot.__set__(field, name)

    dataclasses.Field.name = property(slot.__get__, set_name)


def getattr_slot(slot: Any, value: Any) -> Any:
    """What stands in a slot; nothing, if it was not set yet."""
    try:
        return slot.__get__(value)
    except AttributeError:
        return None


def check_log_formats(guard: Grants, logging: Any) -> None:
    """Checks log formats with braces when they are used: they are format strings."""
    style = logging.StrFormatStyle
    plain = style._format

    def _format(self: Any, record: Any) -> Any:
        check_format(guard.own, str.__str__(self._fmt))
        return plain(self, record)

    style._format = _format


PATCHES: dict[str, Callable[[Grants, Any], None]] = {
    "dataclasses": keep_field_names,
    "logging": check_log_formats,
}


def patch_loaded(guard: Grants, patched: set[str]) -> None:
    """Makes the changes that were not made yet, in the modules that are loaded."""
    for name, patch in PATCHES.items():
        if name not in patched and name in sys.modules:
            patched.add(name)
            patch(guard, sys.modules[name])
