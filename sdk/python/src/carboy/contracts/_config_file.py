"""Reads a workflow's settings from a mapping or from a file, and takes nothing on trust.

A key that stands twice, or beside the place where it would count, is a setting that somebody
believes in and that does not hold. So it is refused.
"""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Union

from .._errors import RequestError
from .._visible import one_line, shown

ConfigLike = Union[Mapping[str, Any], str, "os.PathLike[str]", None]

_MOST_BYTES = 1 << 20
_SECTION = "sandbox"


def section_of(config: ConfigLike, known: tuple[str, ...]) -> dict[str, Any]:
    """The settings: the mapping itself, or its part `sandbox`, from a file if a path was given."""
    if config is None:
        return {}
    if isinstance(config, (str, os.PathLike)):
        config = _file(Path(config))
    section = _mapping(config, "the settings")
    if _SECTION in section:
        beside = [key for key in known if key in section]
        if beside:
            raise RequestError(
                f"{beside[0]} is outside of {_SECTION}, where it has no effect",
                hint=f"move it into {_SECTION}, or pass only what {_SECTION} holds",
            )
        section = _mapping(section[_SECTION], _SECTION)
    for key in section:
        if key not in known:
            raise RequestError(
                f"there is no setting {shown(key, 80)}", hint=f"settings are {', '.join(known)}"
            )
    return section


def _mapping(value: Any, what: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise RequestError(f"{what} must be a mapping, was {shown(value, 80)}")
    return dict(value)


def _file(path: Path) -> Any:
    readers = {".json": _json, ".yaml": _yaml, ".yml": _yaml}
    read = readers.get(path.suffix.lower())
    if read is None:
        raise RequestError(
            f"{path.name} has an unknown file extension", hint="name it .json, .yaml or .yml"
        )
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError(f"{path.name} cannot be read", [one_line(str(error))]) from None
    if len(data) > _MOST_BYTES:
        raise RequestError(f"{path.name} has more than {_MOST_BYTES} bytes")
    return read(text, path.name)


def _once(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"duplicate key {shown(key, 80)}")
        found[key] = value
    return found


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise RequestError(f"{name} is not JSON", [one_line(str(error))]) from None


def _yaml(text: str, name: str) -> Any:
    try:
        yaml: Any = importlib.import_module("yaml")
    except ImportError:
        raise RequestError(
            f"{name} cannot be read: PyYAML is not installed",
            hint="pip install carboy[yaml], or write the settings as JSON",
        ) from None

    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """Plain values only, and each key once."""

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
            own = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
            _once([(self.construct_object(key, deep=True), None) for key in own])
            made: dict[Any, Any] = super().construct_mapping(node, deep)
            return made

    try:
        return yaml.load(text, Loader=Loader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError) as error:
        raise RequestError(f"{name} is not YAML", [one_line(str(error))]) from None
