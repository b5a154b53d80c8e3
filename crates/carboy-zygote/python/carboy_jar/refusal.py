"""What the guard raises, and the names that it goes by."""

from __future__ import annotations

from .language import TABLES

NAMES = {kind: frozenset(names) for kind, names in TABLES["names"].items()}
# Names with underscores that are harmless on any object.
HARMLESS = NAMES["plain"] | NAMES["methods"] | NAMES["underscored"]


class GuardError(BaseException):
    """Something that the language profile does not allow. `except Exception` does not catch it."""

    def __init__(self, rule: str, message: str, instead: str) -> None:
        super().__init__(f"{message} [{rule}]; write instead: {instead}")
        self.refusal = {"rule": rule, "message": message, "instead": instead}


def is_dunder(name: str) -> bool:
    """`__name__`, and anything else with two underscores on both sides."""
    return len(name) > 4 and name[:2] == "__" == name[-2:]


def shown(name: str) -> str:
    """A name as a message shows it: quoted, printable, and not longer than a line."""
    text = name if name.isprintable() else ascii(name)
    return f"`{text[:60]}...`" if len(text) > 60 else f"`{text}`"


def not_handed_out(path: str, name: str) -> GuardError:
    """For a name of a module that the profile does not allow."""
    return GuardError(
        "name-not-granted",
        f"{shown(f'{path}.{name}')} is not allowed by this profile",
        "use another function of the module",
    )
