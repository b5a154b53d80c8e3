"""Modules as guarded code sees them: faces, which have the granted names and nothing else.

A face is a module, so that reading it costs what it always costs.
"""

from __future__ import annotations

import builtins
from types import ModuleType

from .grants import Grants
from .language import TABLES
from .patches import patch_loaded
from .refusal import NAMES, not_handed_out
from .sentries import REPLACED

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

# What is not the same from one moment to the next.
LATE: dict[str, tuple[str, ...]] = {"sys": ("stdin", "stdout", "stderr")}
MISSING = object()


class Faces(Grants):
    """A profile's grants, and the faces that were made of modules."""

    def __init__(self, profile: str) -> None:
        super().__init__(profile)
        self.faces: dict[str, ModuleType] = {}
        self.patched: set[str] = set()
        # Each face by its id, with the module behind it and its path.
        self.handed: dict[int, tuple[ModuleType, str]] = {}
        # What no module hands out under any name.
        never = NAMES["never_by_another_name"]
        self.forbidden = {id(getattr(builtins, name)) for name in never if hasattr(builtins, name)}
        if "open" not in TABLES["profiles"][profile]["builtins"]:
            self.forbidden.add(id(open))

    def check_change(self, name: object, value: object) -> None:
        """Refuses to change an attribute by a name, as the names of modules are not changed."""
        self.check_name(name, value)
        if id(value) in self.handed:
            raise not_handed_out(self.handed[id(value)][1], str(name))

    def face(self, real: ModuleType, path: str) -> ModuleType:
        """The face of a module that may be reached."""
        face = self.faces.get(path)
        if face is not None:
            return face
        patch_loaded(self, self.patched)
        grant = self.granted(path)
        face = ModuleType(real.__name__, real.__doc__)
        self.faces[path] = face
        self.handed[id(face)] = (real, path)
        space = face.__dict__
        # As the module itself would: what it does not have yet, it gets when it is asked for it.
        is_late = (
            path in LATE
            or path in self.imports
            or path + ".**" in self.modules
            or "__getattr__" in real.__dict__
        )
        for name, value in list(real.__dict__.items()):
            if not self.hands_out(path, grant, name) or id(value) in self.forbidden:
                continue
            if name in LATE.get(path, ()):
                continue
            if isinstance(value, ModuleType):
                value = None if is_late else self.module_face(value, path, name)
                if value is None:
                    continue
            space[name] = self.checked(value)
        if is_late:
            space["__getattr__"] = lambda name: self.late(real, path, grant, space, name)
        return face

    def module_face(self, value: ModuleType, path: str, name: str) -> ModuleType | None:
        """The face of a module that stands in another, under the name that is granted, if any is."""
        own = value.__name__
        if self.modules.get(f"{path}.{name}"):
            # `os.path`, which has another name for itself.
            own = f"{path}.{name}"
        return self.face(value, own) if self.reaches(own) else None

    def checked(self, value: Any) -> Any:
        """A value as it is handed out: a sentry for what takes names or texts."""
        replaced = REPLACED.get(id(value))
        return replaced(self, value) if replaced else value

    def late(
        self, real: ModuleType, path: str, grant: Any, space: dict[str, Any], name: str
    ) -> Any:
        """What a module has under a name that its face does not have yet."""
        if name[:2] == "__":
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        self.check_handed_out(path, grant, name)
        value = getattr(real, name, MISSING)
        if value is MISSING:
            # Without the object that the module's own error would carry.
            raise AttributeError(f"module {path!r} has no attribute {name!r}")
        value = self.part(value, path, name)
        if name not in LATE.get(path, ()):
            space[name] = value
        return value

    def part(self, value: Any, path: str, name: str) -> Any:
        """What a module hands out under a name that it grants."""
        if isinstance(value, ModuleType):
            value = self.module_face(value, path, name)
            if value is None:
                raise not_handed_out(path, name)
        elif id(value) in self.forbidden:
            raise not_handed_out(path, name)
        return self.checked(value)

    def want(self, real: ModuleType, face: ModuleType, path: str, name: str) -> None:
        """Puts into a face what `from path import name` asks for."""
        self.check_handed_out(path, self.granted(path), name)
        below = f"{path}.{name}"
        if not hasattr(real, name) and self.reaches(below):
            __import__(below)
        if not hasattr(real, name):
            raise ImportError(f"cannot import name {name!r} from {path!r}")
        face.__dict__[name] = self.part(getattr(real, name), path, name)

    def give(self, value: Any) -> Any:
        """A value that was reached by a computed name: modules go out as their faces only."""
        if not isinstance(value, ModuleType) or id(value) in self.handed:
            return value
        path = value.__name__
        if not self.reaches(path):
            self.refuse_import(path)
        return self.face(value, path)
