"""What is asked of an engine: one run as a line, and how the engine itself is started.

A box says most of it once. What does not change from run to run is written as JSON once.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import Any, Literal

from ._address import checked_address
from ._artifacts import ArtifactWish, checked_wish
from ._data_frames import FrameLike, Frames, Held, is_frame
from ._errors import RequestError
from ._files import FileLike, PathLike, Upload, encoded_files, encoded_mounts
from ._json import NotJson, encoded
from ._policy import PolicyLike, milliseconds, policy_body, tightened
from ._tools import Tool, Toolbox, ToolLike, name_fault

OnError = Literal["return", "raise"]

# The longest line that the engine reads. A longer one would end all runs of the box.
MAX_LINE = 64 << 20


@dataclass(frozen=True)
class Request:
    """One run, as it is sent after its number."""

    body: bytes
    tools: Mapping[str, Tool]
    held: Held | None = None
    """Private files that it needs until its run has ended."""
    kind: bytes = b"run"
    """What is asked for."""
    streams: bool = False
    """Whether anything has to come before the end, if it goes to a server."""
    session: int = 0
    """The session that it is about."""
    ask: bytes = b""
    """What is asked of the session, if that is not to run something or to open it."""
    uploads: tuple[Upload, ...] = ()
    """What a server has to have before."""


class Settings:
    """What holds for every run of a box."""

    def __init__(
        self,
        python: str | os.PathLike[str] | None,
        preload: Iterable[str],
        tools: Iterable[ToolLike],
        policy: PolicyLike | None,
        on_error: OnError,
        untested_python: bool = False,
        artifacts: ArtifactWish = "keep",
        store: str | os.PathLike[str] | None = None,
        record_inputs: bool = False,
        record_artifacts: bool = False,
        memory_budget: int | str | None = None,
        url: str | None = None,
        key: str | None = None,
    ) -> None:
        if isinstance(preload, str):
            raise RequestError("preload must be a list of modules", hint=f'write ["{preload}"]')
        self.address = checked_address(
            url,
            key,
            python=python,
            preload=tuple(preload),
            untested_python=untested_python,
            store=store,
            record_inputs=record_inputs,
            record_artifacts=record_artifacts,
            memory_budget=memory_budget,
        )
        is_recorded = store is not None or os.environ.get("CARBOY_STORE")
        if (record_inputs or record_artifacts) and not is_recorded:
            name = "record_inputs" if record_inputs else "record_artifacts"
            raise RequestError(
                f"{name} has no effect: nothing is recorded",
                hint='name a store too: store="DIR", or CARBOY_STORE',
            )
        self.python = os.fspath(python) if python is not None else sys.executable
        self.untested_python = untested_python
        self.store = os.fspath(store) if store is not None else None
        self.record_inputs = record_inputs
        self.record_artifacts = record_artifacts
        self.memory_budget = checked_size(memory_budget)
        self.preload = tuple(preload)
        self.tools = Toolbox(tools)
        self.policy = policy_body(policy)
        self.raises = is_raise(on_error)
        self.artifacts = checked_wish(artifacts)
        wish = "" if artifacts == "list" else f',"artifacts":"{artifacts}"'
        # What stands before the code, and what follows the job without output as it comes and with it.
        self._begin = b'"job":{"code":'
        self._ends = (f"}}{wish}}}}}\n".encode(), f'}},"stream":true{wish}}}}}\n'.encode())
        if self.address is not None:
            self._begin, self._ends = b'{"code":', (b"}", b"}")
        self._policy_json = _encoded_policy(self.policy)

    def options(self, artifacts: str | None) -> list[str]:
        """How `carboy pipe` is started, and where it keeps artifacts."""
        options = ["--python", self.python]
        if artifacts is not None:
            options += ["--artifacts", artifacts]
        if self.untested_python:
            options.append("--untested-python")
        if self.store is not None:
            options += ["--store", self.store]
        if self.record_inputs:
            options.append("--record-inputs")
        if self.record_artifacts:
            options.append("--record-artifacts")
        if self.memory_budget is not None:
            options += ["--memory-budget", self.memory_budget]
        modules = list(self.preload)
        # Code that awaits a tool imports this, which takes longer than most runs.
        if any(tool.is_async for tool in self.tools.by_name.values()) and "asyncio" not in modules:
            modules.append("asyncio")
        for module in modules:
            options += ["--preload", module]
        return options

    def starting(self) -> str:
        """What is being waited for at a start."""
        name = os.path.basename(self.python)
        modules = f" with {', '.join(self.preload)}" if self.preload else ""
        return f"waiting for the first run on {name}{modules}"

    def request(
        self,
        code: str,
        inputs: Mapping[str, Any] | None,
        policy: PolicyLike | None,
        tools: Iterable[ToolLike],
        timeout: float | None,
        stream: bool,
        files: Mapping[str, FileLike] | None = None,
        mounts: Mapping[str, PathLike] | None = None,
        frames: Mapping[str, FrameLike] | None = None,
    ) -> Request:
        """One run of the box."""
        parts = [self._begin, _encoded_code(code)]
        toolbox = self.tools.with_more(tools) if tools else self.tools
        policy_json = self._policy_json
        body = self.policy
        if policy is not None or timeout is not None:
            body = self.policy if policy is None else policy_body(policy)
            policy_json = _encoded_policy(body if timeout is None else tightened(body, timeout))
        held: Held | None = None
        uploads: tuple[Upload, ...] = ()
        if inputs or files or mounts or frames:
            held, uploads = self._given(parts, body, toolbox, inputs, files, mounts, frames)
        if policy_json:
            parts += [b',"policy":', policy_json]
        if toolbox.json:
            parts += [b',"tools":', toolbox.json]
        parts.append(self._ends[stream])
        streams = stream or bool(toolbox.json)
        return Request(_joined(parts), toolbox.by_name, held, streams=streams, uploads=uploads)

    def _given(
        self,
        parts: list[bytes],
        policy: Mapping[str, Any],
        toolbox: Toolbox,
        inputs: Mapping[str, Any] | None,
        files: Mapping[str, FileLike] | None,
        mounts: Mapping[str, PathLike] | None,
        frames: Mapping[str, FrameLike] | None,
    ) -> tuple[Held | None, tuple[Upload, ...]]:
        """Writes what code is given; returns the private files for some of it, and what is sent before."""
        given = None
        uploads: list[Upload] | None = None if self.address is None else []
        if frames or (inputs and has_frames(inputs)):
            given = Frames(self.python, policy.get("inputs_from") is not None)
            if frames:
                given.name(frames, lambda name: _frame_fault(name, inputs, toolbox))
        if inputs:
            parts += [b',"inputs":', _encoded_inputs(inputs, toolbox, given)]
        if files or given is not None:
            of_frames = None if given is None else given.files
            given_files = {} if files is None else files
            parts += [b',"files":', encoded_files(given_files, of_frames, uploads)]
        if given is not None:
            parts += [b',"frames":', given.json()]
        if mounts and self.address is not None:
            raise RequestError(
                "directories of this host cannot be mounted where a server runs code",
                hint="pass single files in files=, whose content is sent",
            )
        if mounts:
            parts += [b',"mounts":', encoded_mounts(mounts)]
        return None if given is None else given.held, tuple(uploads or ())

    def piece(
        self,
        session: int,
        code: str,
        inputs: Mapping[str, Any] | None,
        tools: Iterable[ToolLike],
        timeout: float | None,
        stream: bool,
        rollback: bool,
    ) -> Request:
        """One run of a session."""
        begin = b'"session":%d,"piece":{"code":' % session
        parts = [begin if self.address is None else self._begin, _encoded_code(code)]
        toolbox = self.tools.with_more(tools) if tools else self.tools
        if inputs:
            if has_frames(inputs):
                raise RequestError(
                    "frames and arrays cannot be passed to a session that is open",
                    hint='open it with them: box.session(inputs={"df": ...})',
                )
            parts += [b',"inputs":', _encoded_inputs(inputs, toolbox, None)]
        if toolbox.json:
            parts += [b',"tools":', toolbox.json]
        if timeout is not None:
            parts.append(b',"wall_ms":%d' % milliseconds(timeout))
        if rollback:
            parts.append(b',"rollback":true')
        parts.append(self._ends[stream])
        streams = stream or bool(toolbox.json)
        body = _joined(parts)
        return Request(body, toolbox.by_name, kind=b"piece", streams=streams, session=session)

    def opening(
        self,
        session: int,
        policy: PolicyLike | None,
        inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, FileLike] | None = None,
        mounts: Mapping[str, PathLike] | None = None,
        frames: Mapping[str, FrameLike] | None = None,
    ) -> Request:
        """Asks for a session."""
        body = self.policy if policy is None else policy_body(policy)
        policy_json = _encoded_policy(body)
        parts: list[bytes] = []
        held, uploads = self._given(parts, body, self.tools, inputs, files, mounts, frames)
        if self.address is None:
            begin = b'"session":%d,"ask":{"open":{"policy":%b' % (session, policy_json or b"{}")
            parts = [begin, *parts, b"}}}}\n"]
        else:
            if policy_json:
                parts += [b',"policy":', policy_json]
            parts = [b"{", _joined(parts)[1:], b"}"]
        request = _joined(parts)
        return Request(request, {}, held, kind=b"session", session=session, uploads=uploads)


def asking(session: int, ask: bytes) -> Request:
    """Asks something of a session."""
    body = b'"session":%d,"ask":%b}}\n' % (session, ask)
    return Request(body, {}, kind=b"session", session=session, ask=ask)


def named(ask: str, name: str) -> bytes:
    """What is asked of a session about one of its checkpoints."""
    if not isinstance(name, str):
        raise RequestError(f"the name of a checkpoint must be str, not {type(name).__name__}")
    try:
        return encoded({ask: {"name": name}})
    except NotJson as error:
        raise RequestError(f"the name of a checkpoint contains {error.what}") from None


def _encoded_code(code: str) -> bytes:
    if type(code) is not str and not isinstance(code, str):
        raise RequestError(f"code must be str, not {type(code).__name__}")
    try:
        return encode_basestring(code).encode()
    except UnicodeEncodeError as error:
        raise RequestError(
            f"the code contains an unpaired surrogate at character {error.start}",
            hint="read it as UTF-8",
        ) from None


def _joined(parts: list[bytes]) -> bytes:
    body = b"".join(parts)
    if len(body) > MAX_LINE - 64:
        raise RequestError(
            f"the request has {len(body)} bytes, at most {MAX_LINE} are accepted",
            hint="pass less data in one run",
        )
    return body


def checked_size(size: int | str | None) -> str | None:
    """An amount of memory as the command takes it."""
    if size is None:
        return None
    text = "" if isinstance(size, bool) else str(size)
    if not isinstance(size, (int, str)) or re.fullmatch("[0-9]+[KMG]?", text) is None:
        raise RequestError(
            f"memory_budget must be a number of bytes or text such as '512M', was {size!r}",
            hint="the units are K, M and G, for KiB, MiB and GiB",
        )
    return text


def is_raise(on_error: OnError) -> bool:
    """Whether outcomes that are not ok are raised: `return` or `raise`."""
    if on_error not in ("return", "raise"):
        raise RequestError(f'on_error must be "return" or "raise", was {on_error!r}')
    return on_error == "raise"


def _encoded_policy(body: Mapping[str, Any]) -> bytes:
    if not body:
        return b""
    try:
        return encoded(dict(body))
    except NotJson as error:
        where = f" at {error.path}" if error.path else ""
        raise RequestError(f"the policy contains {error.what}{where}") from None


def has_frames(inputs: Mapping[str, Any]) -> bool:
    """Whether one of the inputs is a table or an array, which is written to a file first."""
    return isinstance(inputs, Mapping) and any(map(is_frame, inputs.values()))


def _frame_fault(name: Any, inputs: Mapping[str, Any] | None, tools: Toolbox) -> str | None:
    """Why a frame cannot have a name."""
    fault = name_fault(name)
    if fault:
        return fault
    if inputs and name in inputs:
        return "an input has that name"
    return "a tool has that name" if name in tools.by_name else None


def _encoded_inputs(inputs: Mapping[str, Any], tools: Toolbox, frames: Frames | None) -> bytes:
    if not isinstance(inputs, Mapping):
        raise RequestError(
            f"inputs must be a mapping of names to values, not {type(inputs).__name__}",
            hint='write inputs={"data": ...}',
        )
    parts = []
    for name, value in inputs.items():
        fault = name_fault(name)
        if fault:
            raise RequestError(
                f"an input cannot have the name {name!r}: {fault}",
                hint="the code sees each input under its name",
            )
        if name in tools.by_name:
            raise RequestError(f"the name {name!r} is used for both an input and a tool")
        if frames is not None and is_frame(value):
            frames.pass_on(name, value)
            continue
        try:
            parts.append(b'"%b":%b' % (name.encode(), encoded(value)))
        except NotJson as error:
            where = f" at {error.path}" if error.path else ""
            raise RequestError(
                f"the input {name!r} is not JSON: {error.what}{where}",
                hint="pass dicts with text keys, lists, text, numbers, booleans or None; a frame or an "
                "array is an input of its own; convert others, for example with str() or list()",
            ) from None
    return b"{%b}" % b",".join(parts)
