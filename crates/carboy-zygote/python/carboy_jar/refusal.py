"""What the guard raises, and the names that it goes by."""

from __future__ import annotations

from .language import TABLES

NAMES = {kind: frozenset(names) for kind, names in TABLES["names"].items()}
# Names with underscores that are harmless on any object.
HARMLESS = NAMES["plain"] | NAMES["methods"] | NAMES["underscored"]


class GuardError(BaseException):
    """Something that the language profile does not grant. `except Exception` does not catch it."""

    def __init__(self, rule: str, message: str, instead: str) -> None:
        super().__init__(f"{message} [{rule}]; write instead: {instead}")
        self.refusal = {"rule": rule, "message": message, "instead": instead}


def is_dunder(name: str) -> bool:
    """`__name__`, and anything else with two underscores on both sides."""
    return len(name) > 4 and name[:2] == "__" == name[-2:]


def not_handed_out(path: str, name: str) -> GuardError:
    """For a name that a module does not hand out."""
    return GuardError(
        "name-not-granted",
        f"{name!r} is not handed out of {path!r}",
        "use the module's other names",
    )
