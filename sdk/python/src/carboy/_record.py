"""What the engine reports about a run, as data.

The engine's words are kept as they came. What the code wrote (`result`, the output, an error's
message and traceback) is the guest's.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ._artifacts import Artifact, Artifacts, Kept
from ._displays import Display

T = TypeVar("T")


@dataclass(frozen=True)
class LimitHit:
    """The limit that was crossed."""

    name: str
    allowed: int


@dataclass(frozen=True)
class Exit:
    """How a process ended: with a code, or by a signal."""

    code: int | None = None
    signal: int | None = None


@dataclass(frozen=True)
class Error:
    """Why a run did not end well. `message` and `traceback` are the guest's own words."""

    kind: Literal["exception", "limit", "denied", "rejected", "crash", "cancelled"]
    type: str
    message: str
    traceback: str | None = None
    line: int | None = None
    limit: LimitHit | None = None
    hint: str | None = None
    """What the author of the code can do instead."""
    exit: Exit | None = None
    """How the process ended without an answer, or the code that a `SystemExit` asked for."""
    operator_hint: str | None = None
    """What whoever sets the policy can do."""


@dataclass(frozen=True)
class Denial:
    """One thing that a layer refused. `hint` says why and what to write instead, in one sentence.

    The guard also says both apart, as `message` and `instead`.
    """

    layer: Literal["guard", "seccomp", "landlock", "egress"]
    what: str
    count: int
    hint: str
    line: int | None = None
    message: str | None = None
    instead: str | None = None


@dataclass(frozen=True)
class ToolCall:
    """One call of a tool, as the engine saw it."""

    tool: str
    status: Literal["ok", "error", "unanswered"]
    wall_ms: float


@dataclass(frozen=True)
class Usage:
    """What the run used, as the kernel and the engine's clock counted it."""

    queue_ms: float
    wall_ms: float
    cpu_ms: float
    peak_memory_bytes: int


@dataclass(frozen=True)
class Isolation:
    """How the jar was isolated; `layers` was read back from the kernel."""

    tier: str
    walls: str
    layers: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True)
class LeftOut:
    """What the code left that is not among the artifacts, for one reason. `paths` has the first of it."""

    reason: str
    count: int
    paths: list[str] = field(hash=False)
    message: str


@dataclass(frozen=True)
class Chunk:
    """Output as it came."""

    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True)
class Preloaded:
    """A module that is preloaded: which one, and how many of how many are."""

    module: str
    done: int
    count: int
    took_ms: float | None = None
    """How long its import took; `None` if each run's process imports it, before the run."""
    late: str | None = None
    """Why each run's process imports it, instead of all sharing one import."""


@dataclass(frozen=True, repr=False)
class Record:
    """What came of a run, field by field."""

    id: str
    status: Literal["ok", "error"]
    result: Any
    result_type: str | None
    """The Python type of the answer, where that is not JSON's own."""
    result_text: str | None
    """How Python shows the answer, where it has no JSON form; `result` is `None` then."""
    result_note: str | None
    """What `result` leaves out of the answer, such as rows of a long table."""
    displays: list[Display]
    """What the code showed, in order."""
    display_note: str | None
    """What it showed and is not among `displays`, and why."""
    error: Error | None
    stdout: str
    stderr: str
    stdout_truncated: bool
    stderr_truncated: bool
    stdout_omitted: int
    """How many bytes are left out between the beginning and the end."""
    stderr_omitted: int
    denials: list[Denial]
    probes: list[Denial]
    tool_calls: list[ToolCall]
    usage: Usage
    isolation: Isolation
    artifacts: Artifacts
    artifacts_left_out: list[LeftOut]
    _body: Mapping[str, Any] = field(compare=False)

    if not TYPE_CHECKING:  # A type checker would take every name for a field.

        def __getattr__(self, name: str) -> Any:
            # Most callers look at one field or two, so each is made when it is asked for.
            if name not in _MAKERS:
                kind = type(self).__name__
                raise AttributeError(
                    f"{kind!r} object has no attribute {name!r}", name=name, obj=self
                )
            value = _MAKERS[name](self._body)
            if name == "artifacts":
                value = _artifacts(value, self.__dict__.get("_kept"))
            self.__dict__[name] = value
            return value

    def __bool__(self) -> bool:
        return self.ok

    def __hash__(self) -> int:
        return hash(self.id)

    def to_dict(self) -> dict[str, Any]:
        """The outcome in the engine's own form, as JSON."""
        return copy.deepcopy(dict(self._body))

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end."""
        return self.status == "ok"


def _made(cls: type[T], body: Mapping[str, Any]) -> T:
    """What the constructor would make, in a tenth of the time."""
    made = object.__new__(cls)
    made.__dict__.update(body)
    return made


def _artifacts(bodies: list[Mapping[str, Any]], kept: Kept | None) -> Artifacts:
    return Artifacts(_made(Artifact, {**each, "_kept": kept}) for each in bodies)


def _error(body: Mapping[str, Any] | None) -> Error | None:
    if body is None:
        return None
    parts: dict[str, Any] = {**body}
    for name, cls in (("limit", LimitHit), ("exit", Exit)):
        if parts.get(name) is not None:
            parts[name] = _made(cls, parts[name])
    return _made(Error, parts)


_MAKERS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "id": lambda body: body["id"],
    "status": lambda body: body["status"],
    "result": lambda body: body.get("result"),
    "result_type": lambda body: body.get("result_type"),
    "result_text": lambda body: body.get("result_text"),
    "result_note": lambda body: body.get("result_note"),
    "displays": lambda body: [_made(Display, each) for each in body.get("displays", ())],
    "display_note": lambda body: body.get("display_note"),
    "error": lambda body: _error(body.get("error")),
    "stdout": lambda body: body["stdout"]["text"],
    "stderr": lambda body: body["stderr"]["text"],
    "stdout_truncated": lambda body: body["stdout"]["truncated"],
    "stderr_truncated": lambda body: body["stderr"]["truncated"],
    "stdout_omitted": lambda body: body["stdout"].get("omitted_bytes", 0),
    "stderr_omitted": lambda body: body["stderr"].get("omitted_bytes", 0),
    "denials": lambda body: [_made(Denial, each) for each in body["denials"]],
    "probes": lambda body: [_made(Denial, each) for each in body.get("probes", ())],
    "tool_calls": lambda body: [_made(ToolCall, each) for each in body.get("tool_calls", ())],
    "usage": lambda body: _made(Usage, body["usage"]),
    "isolation": lambda body: _made(Isolation, body["isolation"]),
    "artifacts": lambda body: body["artifacts"],
    "artifacts_left_out": lambda body: [
        _made(LeftOut, each) for each in body.get("artifacts_left_out", ())
    ],
}
