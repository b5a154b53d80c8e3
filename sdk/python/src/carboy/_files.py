"""Files and directories that a run is given, as they go to the engine."""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from typing import Any

from ._errors import RequestError
from ._json import NotJson, encoded

FileLike = str | os.PathLike[str] | bytes | bytearray | memoryview
PathLike = str | os.PathLike[str]

_HINT = 'write files={"sales.csv": "data/sales-2026.csv"}, or bytes in place of the path'


def encoded_files(
    files: Mapping[str, FileLike], of_frames: Mapping[str, dict[str, str]] | None = None
) -> bytes:
    """Files by the names under which the code finds them: paths, or their bytes. `of_frames` are more."""
    return _encoded("files", files, _source, of_frames or {})


def encoded_mounts(mounts: Mapping[str, PathLike]) -> bytes:
    """Directories, or files, by the places at which the code finds them."""
    return _encoded("mounts", mounts, absolute, {})


def _encoded(
    what: str, given: Mapping[str, Any], form: Any, more: Mapping[str, dict[str, str]]
) -> bytes:
    if not isinstance(given, Mapping):
        raise RequestError(
            f"{what} must be a mapping of names to paths, not {type(given).__name__}", hint=_HINT
        )
    for name in given:
        if not isinstance(name, str):
            raise RequestError(f"a name in {what} must be str, not {type(name).__name__}")
        if name in more:
            raise RequestError(f"the file {name!r} is given twice, once of them as a frame")
    try:
        return encoded({name: form(name, source) for name, source in given.items()} | dict(more))
    except NotJson as error:
        where = f" at {error.path}" if error.path else ""
        raise RequestError(
            f"{what} contains {error.what}{where}", hint="names and paths are text in UTF-8"
        ) from None


def _source(name: str, source: FileLike) -> dict[str, str]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        return {"base64": base64.b64encode(source).decode()}
    return {"path": absolute(name, source)}


def absolute(name: str, path: PathLike) -> str:
    """The engine may be in another directory."""
    if not isinstance(path, (str, os.PathLike)):
        raise RequestError(
            f"the file {name!r} must be a path or bytes, not {type(path).__name__}", hint=_HINT
        )
    path = os.path.expanduser(os.fspath(path))
    if not isinstance(path, str):
        raise RequestError(f"the path of {name!r} must be text", hint=_HINT)
    return os.path.join(os.getcwd(), path)
