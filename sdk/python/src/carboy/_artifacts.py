"""Files that code left in its directory, as the caller has them.

The engine writes their content into a private directory that it shares with this process, a folder for
each run and in it a file for each SHA-256. The folder is removed when nothing refers to the run's
artifacts any more, and the whole directory with the engine.
"""

from __future__ import annotations

import builtins
import errno
import os
import re
import secrets
import shutil
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, SupportsIndex, overload

from ._errors import RequestError
from ._visible import one_line

ArtifactWish = Literal["none", "list", "keep"]

_PIECE = 1 << 16
_MOST_NAMES = 10
# How an outcome begins: with the caller's number and the run's id.
_OUTCOME = re.compile(rb'\{"outcome":\{"id":\d+,"outcome":\{"id":"([0-9a-f]+)"')


def checked_wish(wish: ArtifactWish) -> ArtifactWish:
    """What is wanted of the files that code leaves, if that is one of the words."""
    if wish not in ("none", "list", "keep"):
        raise RequestError(f'artifacts must be "keep", "list" or "none", was {wish!r}')
    return wish


def new_place() -> str:
    """A name for a directory that an engine makes for itself. Nobody can guess it."""
    return os.path.join(tempfile.gettempdir(), f"carboy-artifacts-{secrets.token_hex(16)}")


def remove_place(place: str) -> None:
    """Removes what an engine that was killed left."""
    shutil.rmtree(place, ignore_errors=True)


def remove_kept(place: str, line: bytes) -> None:
    """Removes the artifacts of an outcome that nobody waits for."""
    found = _OUTCOME.match(line)
    if found is not None and b'"sha256":"' in line:
        remove_place(os.path.join(place, found[1].decode()))


class Kept(ABC):
    """Where the content of one run's artifacts is."""

    @abstractmethod
    def open(self, artifact: Artifact) -> BinaryIO:
        """The content of one of them, as a file to read from."""


class KeptHere(Kept):
    """The folder of one run's artifacts, which goes when this does."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        # Whoever ends the engine removes everything.
        weakref.finalize(self, _remove, folder, os.getpid()).atexit = False

    def open(self, artifact: Artifact) -> BinaryIO:
        assert artifact.sha256 is not None
        try:
            return open(os.path.join(self._folder, artifact.sha256), "rb")
        except FileNotFoundError:
            raise RequestError(
                f"the content of {artifact.path!r} is gone, because its sandbox was closed",
                hint="read or save artifacts before that",
            ) from None

    def __copy__(self) -> KeptHere:
        return self

    def __deepcopy__(self, memo: object) -> KeptHere:
        # A copy would not keep the folder.
        return self


# A directory of this host that has a folder for each run, or what finds the content of a run by its id.
Place = str | Callable[[str], Kept]


def kept_at(place: Place, run: str) -> Kept:
    """Where the content of a run's artifacts is."""
    return KeptHere(f"{place}/{run}") if isinstance(place, str) else place(run)


def _remove(folder: str, owner: int) -> None:
    # A forked child has copies of the objects, but the files belong to its parent.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Artifact:
    """One file that the code left in its directory.

    `path` is below that directory. `sha256` and `media_type`, which comes from the content, are there
    if the content was kept.
    """

    path: str
    bytes: int
    sha256: str | None = None
    media_type: str | None = None
    _kept: Kept | None = field(default=None, repr=False, compare=False)

    def read(self) -> builtins.bytes:
        """The whole content."""
        with self.open() as file:
            return file.read()

    def open(self) -> BinaryIO:
        """The content as a file to read from, for what is too large for memory."""
        if self._kept is None or self.sha256 is None:
            raise RequestError(
                f"the content of {self.path!r} was not kept",
                hint='use a sandbox with artifacts="keep"',
            )
        return self._kept.open(self)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> Path:
        """Writes the file below a folder, under its own path, and returns where.

        Folders are made as needed, and nothing is written through a link. A file that is there already
        is only replaced with `force`.
        """
        *names, name = _names(self.path)
        with self.open() as content:
            os.makedirs(folder, exist_ok=True)
            at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                for each in names:
                    at = _entered(at, each)
                _write(content, at, name, force)
            except FileExistsError:
                raise FileExistsError(
                    errno.EEXIST,
                    "a file of that name exists; save(..., force=True) replaces it",
                    os.path.join(folder, self.path),
                ) from None
            finally:
                os.close(at)
        return Path(folder, *names, name)


class Artifacts(list[Artifact]):
    """The files that code left: a list, which also finds one by its path."""

    @overload
    def __getitem__(self, key: SupportsIndex) -> Artifact: ...
    @overload
    def __getitem__(self, key: slice) -> list[Artifact]: ...
    @overload
    def __getitem__(self, key: str) -> Artifact: ...
    def __getitem__(self, key: SupportsIndex | slice | str) -> Artifact | list[Artifact]:
        if isinstance(key, str):
            for artifact in self:
                if artifact.path == key:
                    return artifact
            some = ", ".join(one_line(artifact.path, 80) for artifact in self[:_MOST_NAMES])
            more = ", ..." if len(self) > _MOST_NAMES else ""
            raise KeyError(f"the code left no file {key!r}, but {some or 'none'}{more}")
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        if isinstance(key, str):
            return any(artifact.path == key for artifact in self)
        return super().__contains__(key)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> list[Path]:
        """Writes all of them below a folder. See `Artifact.save`."""
        return [artifact.save(folder, force=force) for artifact in self]


def _names(path: str) -> list[str]:
    names = path.split("/")
    if any(name in ("", ".", "..") or "\0" in name for name in names):
        raise RequestError(f"{path!r} is no path of a file")
    return names


def _entered(at: int, name: str) -> int:
    """A folder below another, which is closed."""
    try:
        try:
            os.mkdir(name, dir_fd=at)
        except FileExistsError:
            pass
        return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    finally:
        os.close(at)


def _write(content: BinaryIO, at: int, name: str, force: bool) -> None:
    """Writes a file that is not there, or takes the place of the one that is."""
    made = f".carboy-{os.urandom(8).hex()}" if force else name
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    with open(os.open(made, flags, 0o666, dir_fd=at), "wb") as file:
        try:
            shutil.copyfileobj(content, file, _PIECE)
            file.flush()
            if force:
                os.replace(made, name, src_dir_fd=at, dst_dir_fd=at)
        except BaseException:
            os.unlink(made, dir_fd=at)
            raise
