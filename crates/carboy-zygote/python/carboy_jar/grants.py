"""What a profile grants, by name: the decisions, which touch no object.

The guard itself decides the same in Rust, before a run (`carboy-guard/src/profile.rs`). Both read the
same tables, and `golden/guard.json` has cases that the tests of both read.
"""

from __future__ import annotations

from .language import TABLES
from .refusal import HARMLESS, NAMES, GuardError, is_dunder, not_handed_out, shown

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any, NoReturn


class Grants:
    """What one profile grants, with what a job adds to it."""

    def __init__(self, profile: str) -> None:
        self.profile = profile
        # Of each module: True (all that is public), False (nothing), or a table of names.
        self.modules: dict[str, Any] = TABLES["profiles"][profile]["modules"]
        self.imports: tuple[str, ...] = ()
        self.own: frozenset[str] = frozenset()

    def check_name(self, name: object, value: object = None) -> None:
        """Refuses the name of an attribute that the profile does not grant."""
        if type(name) is not str:
            if isinstance(name, str):
                raise GuardError(
                    "dunder-attribute",
                    "the attribute name is an instance of a subclass of str",
                    "use str(name)",
                )
            raise TypeError("attribute name must be string, not " + type(name).__name__)
        if name in NAMES["interpreter"]:
            raise GuardError(
                "interpreter-attribute",
                f"{shown(name)} exposes interpreter internals",
                "keep what you need in variables of your own",
            )
        if name[:1] != "_" or name in HARMLESS or name in self.own:
            return
        if is_dunder(name):
            rule, why = "dunder-attribute", "is not allowed by this profile"
        else:
            if type(value).__module__ == "__main__":
                return
            rule = "private-attribute"
            why = "is a private attribute that this program does not define"
        raise GuardError(
            rule, f"{shown(name)} {why}", "use public attributes, operators and builtins"
        )

    def granted(self, path: str) -> Any:
        """What is handed out of a module: True, a table, or None."""
        if path == "__future__":
            return True
        for granted in self.imports:
            if path == granted or path.startswith(granted + "."):
                return True
        grant = self.modules.get(path)
        if grant is not None:
            return grant or None
        package = path
        while "." in package:
            package = package.rpartition(".")[0]
            if self.modules.get(package) is False:
                return None
            if package + ".**" in self.modules:
                rest = path[len(package) + 1 :].split(".")
                return None if any(part[:1] in ("_", "") for part in rest) else True
            if package in self.modules:
                return None
        return None

    def reaches(self, path: str) -> bool:
        """Whether a module may be reached: for what it hands out, or for what lies below it."""
        return self.granted(path) is not None or self.is_container(path)

    def is_container(self, path: str) -> bool:
        """Whether granted modules lie below this one."""
        below = path + "."
        return any(name.startswith(below) and grant for name, grant in self.modules.items()) or any(
            name.startswith(below) for name in self.imports
        )

    def hands_out(self, path: str, grant: Any, name: str) -> bool:
        """Whether a module with this grant hands out a name."""
        if name[:1] in ("_", ""):
            return name in NAMES["of_modules"]
        if self.modules.get(f"{path}.{name}") is False:
            return False
        if type(grant) is dict:
            return name in grant["only"] if "only" in grant else name not in grant["without"]
        return grant is True

    def check_handed_out(self, path: str, grant: Any, name: str) -> None:
        """Refuses a name that a module hands out neither by itself nor for what lies below it."""
        if self.hands_out(path, grant, name):
            return
        below = f"{path}.{name}"
        # What a package keeps back is not granted as a module that could lie below it.
        as_module = self.modules.get(below) or self.is_container(below)
        if name[:1] == "_" or not (as_module or (grant is None and self.reaches(below))):
            raise not_handed_out(path, name)

    def refuse_import(self, path: str) -> NoReturn:
        """A module that is not granted was asked for."""
        raise GuardError(
            "import-not-granted",
            f"the module {shown(path)} is not allowed by the profile `{self.profile}`",
            "use a module that is allowed, such as math, json, re, collections",
        )

    def give(self, value: Any) -> Any:
        """A value that was reached by a computed name, as the code may have it."""
        raise NotImplementedError
