"""Files and directories that a run is given, as they go to the engine."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import RequestError
from ._json import NotJson, encoded

FileLike = str | os.PathLike[str] | bytes | bytearray | memoryview
PathLike = str | os.PathLike[str]

# What is longer is not sent with a run, but once by itself.
_MOST_INLINE = 1 << 20
# How much of a file is in memory.
_PART = 256 << 10
_HINT = 'write files={"sales.csv": "data/sales-2026.csv"}, or bytes in place of the path'


@dataclass(frozen=True)
class Upload:
    """A file that a server is sent once, and knows by its digest from then on."""

    name: str
    source: str | bytes
    """Its path, or its content."""
    sha256: str
    size: int

    def parts(self) -> Iterator[bytes]:
        """Its content. `ValueError` if that is not as long as it was."""
        if isinstance(self.source, bytes):
            for start in range(0, self.size, _PART):
                yield self.source[start : start + _PART]
            return
        left = self.size
        try:
            with open(self.source, "rb") as file:
                while left:
                    part = file.read(min(_PART, left))
                    if not part:
                        break
                    left -= len(part)
                    yield part
        except OSError as error:
            raise ValueError(f"it cannot be read: {error.strerror or error}") from None
        if left:
            raise ValueError("it became shorter")


def encoded_files(
    files: Mapping[str, FileLike],
    of_frames: Mapping[str, dict[str, str]] | None = None,
    uploads: list[Upload] | None = None,
) -> bytes:
    """Files by the names under which the code finds them: paths, or their bytes. `of_frames` are more.

    With `uploads` the engine is on another host: it gets the content of those that are short, and the
    others are added there.
    """
    more = of_frames or {}
    if uploads is None:
        return _encoded("files", files, _source, more)
    sent = uploads
    paths = {name: source["path"] for name, source in more.items() if "path" in source}
    more = {**more, **{name: _content(name, path, sent) for name, path in paths.items()}}
    return _encoded("files", files, lambda name, source: _sent(name, source, sent), more)


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


def _sent(name: str, source: FileLike, uploads: list[Upload]) -> dict[str, str]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        if memoryview(source).nbytes <= _MOST_INLINE:
            return _source(name, source)
        content = bytes(source)
        digest = hashlib.sha256(content).hexdigest()
        uploads.append(Upload(name, content, digest, len(content)))
        return {"sha256": digest}
    return _content(name, absolute(name, source), uploads)


def _content(name: str, path: str, uploads: list[Upload]) -> dict[str, str]:
    """A file of this host, for an engine that cannot open its path."""
    try:
        with open(path, "rb") as file:
            if os.fstat(file.fileno()).st_size <= _MOST_INLINE:
                content = file.read(_MOST_INLINE + 1)
                if len(content) <= _MOST_INLINE:
                    return {"base64": base64.b64encode(content).decode()}
                file.seek(0)
            digest, size = hashlib.sha256(), 0
            while part := file.read(_PART):
                digest.update(part)
                size += len(part)
    except OSError as error:
        raise RequestError(f"the file {name!r} cannot be read: {error.strerror or error}") from None
    uploads.append(Upload(name, path, digest.hexdigest(), size))
    return {"sha256": digest.hexdigest()}


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
