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

# What fits into a request, in base64.
_MOST_SENT = 47 << 20
_HINT = 'write files={"sales.csv": "data/sales-2026.csv"}, or bytes in place of the path'


def encoded_files(
    files: Mapping[str, FileLike],
    of_frames: Mapping[str, dict[str, str]] | None = None,
    is_sent: bool = False,
) -> bytes:
    """Files by the names under which the code finds them: paths, or their bytes. `of_frames` are more.

    With `is_sent` the engine is on another host, and gets the content of all.
    """
    more = of_frames or {}
    if is_sent:
        more = {name: _content(name, source) for name, source in more.items()}
        return _encoded("files", files, lambda *file: _content(file[0], _source(*file)), more)
    return _encoded("files", files, _source, more)


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


def _content(name: str, source: dict[str, str]) -> dict[str, str]:
    """The content of a file, for an engine that cannot open its path."""
    path = source.get("path")
    if path is None:
        return source
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > _MOST_SENT:
                raise RequestError(
                    f"the file {name!r} has {size} bytes, at most {_MOST_SENT} can be sent with a run",
                    hint="pass less, or run where the file is: a Sandbox without url= copies nothing",
                )
            content = file.read(_MOST_SENT + 1)
    except OSError as error:
        raise RequestError(f"the file {name!r} cannot be read: {error.strerror or error}") from None
    return {"base64": base64.b64encode(content).decode()}


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
