"""`carboy.run`: one box for all of this process, for those who need no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ._data_frames import FrameLike
from ._files import FileLike, PathLike
from ._outcome import Outcome
from ._policy import PolicyLike
from ._record import Chunk
from ._request import OnError
from ._sandbox import Sandbox
from ._tools import ToolLike

# It costs nothing until its first run. A forked child has the same box without an engine, and its
# first run there starts one.
_BOX = Sandbox()


def run(
    code: str,
    inputs: Mapping[str, Any] | None = None,
    *,
    files: Mapping[str, FileLike] | None = None,
    mounts: Mapping[str, PathLike] | None = None,
    frames: Mapping[str, FrameLike] | None = None,
    policy: PolicyLike | None = None,
    tools: Iterable[ToolLike] = (),
    on_output: Callable[[Chunk], object] | None = None,
    on_error: OnError = "return",
    timeout: float | None = None,
) -> Outcome:
    """Runs code in a fresh jar, in a box that all callers in this process share.

    See `Sandbox.run`. The engine starts with the first run and ends with the process.
    """
    return _BOX.run(
        code,
        inputs,
        files=files,
        mounts=mounts,
        frames=frames,
        policy=policy,
        tools=tools,
        on_output=on_output,
        on_error=on_error,
        timeout=timeout,
    )
