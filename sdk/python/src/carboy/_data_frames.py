"""Frames that a run is given: tables and arrays of the caller's, and files that are to be frames.

A table goes as Arrow IPC and an array as numpy's own format, written once into a private file that the
engine hands in without a copy and that goes with the run. The code finds a variable of the same type.
Nothing is ever pickled.
"""

from __future__ import annotations

import base64
import importlib
import importlib.util
import os
import secrets
import shutil
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ._errors import RequestError
from ._exact_frames import arrow_table
from ._files import PathLike, absolute
from ._json import NotJson, encoded
from ._packages import installed
from ._plain_frames import NAMELESS, NotPassedError, write_plain
from ._visible import one_line

FrameKind = Literal[
    "pandas.DataFrame",
    "pandas.Series",
    "polars.DataFrame",
    "polars.Series",
    "polars.LazyFrame",
    "pyarrow.Table",
    "pyarrow.RecordBatch",
    "pyarrow.Dataset",
    "numpy.ndarray",
]
FrameFormat = Literal["arrow", "parquet", "csv", "jsonl", "npy"]

_KINDS = FrameKind.__args__  # type: ignore[attr-defined] # of a Literal
_FORMATS = FrameFormat.__args__  # type: ignore[attr-defined] # of a Literal
_LIBRARIES = ("pandas", "polars", "pyarrow", "numpy")
# What is shorter goes with the request, and is recorded where inputs are.
_SHORT = 1 << 20
# The same where the policy says from which directories files may be taken.
_SHORT_IF_ZONED = 20 << 20
# What is longer is mapped where the code runs.
_MAPPED = 32 << 20
_HINT = 'write frames={"sales": "exports/sales.parquet"}; CSV, JSONL, Parquet and Arrow are known'


@dataclass(frozen=True)
class FrameFile:
    """A file that code finds as a frame, in `frames=`, where more has to be said than its path.

    `kind` is the type of the variable, such as `"polars.DataFrame"`; without it, it is a frame of the
    library that the code imports. `format` says what is in the file where its name does not.
    """

    path: PathLike
    kind: FrameKind | None = None
    format: FrameFormat | None = None


FrameLike = PathLike | FrameFile


class Held:
    """The private files of one run, which go when it ends, or with the last reference to them."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="carboy-frames-")
        # Code of a root engine is another user, who has to get to a file whose name nobody else knows.
        self._is_root = os.geteuid() == 0
        if self._is_root:
            os.chmod(self.folder, 0o711)
        self._end = weakref.finalize(self, _remove, self.folder, os.getpid())

    def new_file(self) -> str:
        """A path of an empty file that only this user can open."""
        path = os.path.join(self.folder, secrets.token_hex(16))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def written(self, path: str) -> None:
        """The file is complete."""
        if self._is_root:
            os.chmod(path, 0o444)

    def remove(self) -> None:
        """Removes all of them."""
        self._end()


def _remove(folder: str, owner: int) -> None:
    # A forked child has copies of the objects, but the files belong to its parent.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def is_frame(value: Any) -> bool:
    """Whether a value goes as a frame and not as JSON."""
    return type(value).__module__ != "builtins" and _kind(value) is not None


def _kind(value: Any) -> str | None:
    """The type of a frame, by the name that the code knows it by."""
    for one in type(value).__mro__:
        library = one.__module__.partition(".")[0]
        if library in _LIBRARIES and f"{library}.{one.__name__}" in _KINDS:
            return f"{library}.{one.__name__}"
    return None


class Frames:
    """The frames of one run, as they go to the engine."""

    def __init__(self, python: str, is_zoned: bool) -> None:
        self.frames: dict[str, dict[str, str]] = {}
        self.files: dict[str, dict[str, str]] = {}
        self.held: Held | None = None
        self._python = python
        self._is_zoned = is_zoned

    def name(self, files: Mapping[str, FrameLike], taken: Callable[[str], str | None]) -> None:
        """Files that are to be frames, by the names of the variables."""
        if not isinstance(files, Mapping):
            raise RequestError(
                f"frames must be a mapping of names to paths, not {type(files).__name__}",
                hint=_HINT,
            )
        for name, file in files.items():
            fault = taken(name)
            if fault:
                raise RequestError(f"a frame cannot have the name {name!r}: {fault}", hint=_HINT)
            if not isinstance(file, FrameFile):
                file = FrameFile(file)
            if is_frame(file.path):
                raise RequestError(
                    f"the frame {name!r} is no path but a {_kind(file.path)}",
                    hint=f"pass it as an input: inputs={{{name!r}: ...}}",
                )
            path = absolute(name, file.path)
            for what, given, known in (
                ("kind", file.kind, _KINDS),
                ("format", file.format, _FORMATS),
            ):
                if given is not None and given not in known:
                    raise RequestError(
                        f"the frame {name!r} has no known {what}: {given!r}",
                        hint=f"there are {', '.join(known)}",
                    )
            end = f".{file.format}" if file.format else os.path.splitext(path)[1].lower()
            about = {"format": file.format, "kind": file.kind}
            self._add(name, end, {"path": path}, about)

    def pass_on(self, name: str, value: Any) -> None:
        """A table or an array of the caller's."""
        kind = str(_kind(value))
        if self.held is None:
            self.held = Held()
        path = self.held.new_file()
        try:
            form = self._write(path, kind, value)
        except NotPassedError as error:
            raise RequestError(
                f"the input {name!r} cannot be passed: {error}", hint=error.hint
            ) from None
        except (MemoryError, OSError):
            raise
        except Exception as error:
            raise RequestError(
                f"the input {name!r} cannot be passed as a {kind}: {one_line(str(error), 300)}",
                hint="convert it first, or pass it as JSON: lists and dicts of numbers and text",
            ) from error
        self.held.written(path)
        size = os.path.getsize(path)
        source = {"path": path}
        if size <= (_SHORT_IF_ZONED if self._is_zoned else _SHORT):
            with open(path, "rb") as file:
                source = {"base64": base64.b64encode(file.read()).decode()}
            os.unlink(path)
        self._add(name, f".{form}", source, {"kind": kind})

    def json(self) -> bytes:
        """All of them, as the job has them."""
        try:
            return encoded(self.frames)
        except NotJson as error:
            raise RequestError(f"frames contains {error.what}") from None

    def _add(
        self, name: str, end: str, source: dict[str, str], about: Mapping[str, str | None]
    ) -> None:
        file = f"frames/{name}{end}"
        self.files[file] = source
        self.frames[name] = {"file": file, **{key: text for key, text in about.items() if text}}

    def _write(self, path: str, kind: str, value: Any) -> str:
        """Writes a frame, and returns in which format."""
        library = kind.partition(".")[0]
        _check_type(kind, value)
        if library == "numpy":
            _write_array(path, value)
            return "npy"
        if library == "polars":
            if kind == "polars.LazyFrame":
                value.sink_ipc(path, compression="uncompressed")
            else:
                table = value.to_frame() if kind == "polars.Series" else value
                table.write_ipc(path, compression="uncompressed")
                _check_polars(path, table)
            return "arrow"
        if kind == "pandas.Series":
            value = value.to_frame(NAMELESS if value.name is None else value.name)
        if library == "pandas" and not self._has_arrow():
            write_plain(path, value)
            return "npz"
        if kind == "pyarrow.Dataset":
            raise NotPassedError(
                "a pyarrow.Dataset is read where its files are",
                hint="name its file in frames=, or pass its to_table()",
            )
        arrow = importlib.import_module("pyarrow")
        if library == "pandas":
            value = arrow_table(arrow, value)
        batches = [value] if kind == "pyarrow.RecordBatch" else value.to_batches()
        _write_arrow(arrow, path, value.schema, batches)
        return "arrow"

    def _has_arrow(self) -> bool:
        """Whether both this program and the code can use pyarrow."""
        if importlib.util.find_spec("pyarrow") is None:
            return False
        if self._python == sys.executable:
            return True
        return any(package.module == "pyarrow" for package in installed(self._python))


def _check_type(kind: str, value: Any) -> None:
    """Refuses classes that are made of a frame's: what they add would be lost."""
    exact, library = type(value), kind.partition(".")[0]
    name = f"{exact.__module__.partition('.')[0]}.{exact.__name__}"
    if name in (kind, "numpy.memmap") or kind == "pyarrow.Dataset":
        return
    if name == "numpy.MaskedArray":
        raise NotPassedError("it has a mask", hint="pass its data and its mask as two arrays")
    how = "numpy.asarray(x)" if library == "numpy" else f"{kind}(x)"
    raise NotPassedError(
        f"it is a {exact.__module__}.{exact.__name__}, which would arrive as a {kind}",
        hint=f"pass {how}, if that is enough",
    )


def _check_polars(path: str, table: Any) -> None:
    """Refuses what pyarrow cannot map: a long table is mapped by it where the code runs."""
    if os.path.getsize(path) <= _MAPPED:
        return
    for name, dtype in getattr(table, "schema", {}).items():
        if _has_long_integers(dtype):
            raise NotPassedError(
                f"the column {name!r} has the type {dtype}, and pyarrow cannot map integers of 128 bits",
                hint="cast it to Int64, Decimal or String, pass at most 32 MiB, or pass a LazyFrame",
            )


def _has_long_integers(dtype: Any) -> bool:
    if str(dtype) in ("Int128", "UInt128"):
        return True
    inner = [one.dtype for one in getattr(dtype, "fields", ())]
    if getattr(dtype, "inner", None) is not None:
        inner.append(dtype.inner)
    return any(map(_has_long_integers, inner))


def _write_arrow(arrow: Any, path: str, schema: Any, batches: Iterable[Any]) -> None:
    ipc = importlib.import_module("pyarrow.ipc")
    with arrow.OSFile(path, "wb") as file, ipc.new_file(file, schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def _write_array(path: str, value: Any) -> None:
    numpy = importlib.import_module("numpy")
    if value.dtype.hasobject:
        raise NotPassedError(
            "an array of Python objects would have to be pickled",
            hint="give it a type, for example with .astype(float), or pass .tolist()",
        )
    with open(path, "wb") as file:
        numpy.lib.format.write_array(file, numpy.asarray(value), allow_pickle=False)
