"""Tools of an agent, each with the sandbox that it was declared to need.

The one who writes a tool knows what it may do, so the policy is said there, and not at every call.
An agent's loop then meets endless loops, memory eaters and fork bombs as a `ToolError` with a
cause, and goes on to its next step.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .._default import run
from .._errors import RequestError, ToolError
from .._limits import Limits
from .._outcome import Outcome
from .._policy import Policy
from .._visible import one_line, shown
from ._checks import script_fault
from ._endings import Ending, ending_of, words_of
from ._not_built import not_built
from ._tool_source import ToolSource, refuse_async


class SandboxPolicy(Enum):
    """Where a tool runs, from the weakest to the strongest.

    PERMISSIVE IS NO SANDBOX: the tool runs in this process and may do what this process may do.
    """

    PERMISSIVE = "permissive"
    """NO SANDBOX. The tool runs in this very process, with everything that this process may do: its
    files, its network, its secrets. No limit holds, and an endless loop is endless. Only for code
    that you wrote and trust, and never for what a model wrote."""

    SUBPROCESS = "subprocess"
    """In a jar: a process of its own that the kernel seals, with limits, without files of the host
    and without a network."""

    CONTAINER = "container"
    """Not built yet. It may be declared; running answers with `NotBuiltError`."""


@dataclass(frozen=True)
class ToolResult:
    """What came of a tool that ran to an end of its own."""

    ok: bool
    value: Any = None
    """What it returned. From a jar it is JSON."""
    error: str | None = None
    """What it raised, on one line, if it is not ok."""
    outcome: Outcome | None = None
    """The whole story of a run in a jar: output, usage, denials. Without a jar there is none."""


class SandboxToolError(ToolError):
    """The sandbox ended a tool. The message is `sandbox: ` and a cause.

    `timeout`: the time on the clock or of the processor ran out. `memory`, `processes`, `threads`,
    `files`, `output`: it wanted more than its limits allow. `result`: what it returned is not JSON,
    too long or too deep. `denied`: it ended on something that the walls refuse, or did not stop
    trying. `crash`: its process died. `cancelled`: somebody ended the run.
    """

    cause: str
    outcome: Outcome

    def __init__(self, cause: str, outcome: Outcome) -> None:
        super().__init__(cause, outcome)
        self.cause = cause
        self.outcome = outcome

    def __str__(self) -> str:
        return f"sandbox: {self.cause}"


class SandboxedTool:
    """A tool with its policy. Calling it runs it there; it cannot be called past its sandbox.

    It returns what the tool returned, and raises a `ToolError` if the tool raised. `sandboxed` and
    `ToolRegistry.register` make these.
    """

    name: str
    policy: SandboxPolicy
    limits: Limits | None

    def __init__(
        self,
        tool: Callable[..., Any] | ToolSource,
        policy: SandboxPolicy,
        *,
        name: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.policy = _checked_policy(policy)
        self.limits = _checked_limits(self.policy, limits)
        self._function: Callable[..., Any] | None = None
        self._source: ToolSource | None = None
        if isinstance(tool, ToolSource):
            if policy is SandboxPolicy.PERMISSIVE:
                raise RequestError(
                    f"the tool {tool.name} is a text, and a text is never run without a sandbox",
                    hint="take SandboxPolicy.SUBPROCESS, or pass a function that you trust",
                )
            self._source = tool
        else:
            if not callable(tool):
                raise RequestError(f"a tool must be a function, not {type(tool).__name__}")
            refuse_async(tool)
            self._function = tool
            if policy is not SandboxPolicy.PERMISSIVE:
                self._source = ToolSource.of(tool)
            # Not its attributes: one could be called `policy`.
            functools.update_wrapper(self, tool, updated=())
        own = tool.name if isinstance(tool, ToolSource) else getattr(tool, "__name__", None)
        self.name = name if name is not None else own or type(tool).__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.policy is SandboxPolicy.PERMISSIVE and self._function is not None:
            return self._function(*args, **kwargs)
        result = self._run(args, kwargs, self.policy, self.limits)
        if not result.ok:
            raise ToolError(result.error)
        return result.value

    def __repr__(self) -> str:
        return f"SandboxedTool({self.name}, {self.policy})"

    def _run(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        policy: SandboxPolicy,
        limits: Limits | None,
    ) -> ToolResult:
        if policy is SandboxPolicy.CONTAINER:
            raise not_built(
                "SandboxPolicy.CONTAINER",
                "SandboxPolicy.SUBPROCESS runs a tool in a sealed process",
            )
        if policy is SandboxPolicy.PERMISSIVE and self._function is not None:
            return _run_without_sandbox(self._function, args, kwargs)
        if self._source is None:
            self._source = ToolSource.of(self._function)
        return _run_in_jar(self._source, args, kwargs, limits)


ToolLike = Callable[..., Any] | ToolSource | SandboxedTool


def sandboxed(
    policy: SandboxPolicy, *, limits: Limits | None = None
) -> Callable[[Callable[..., Any]], SandboxedTool]:
    """Declares the policy of a tool, above its `def`. `ToolSource.of` says which a jar can take."""
    return lambda function: SandboxedTool(function, policy, limits=limits)


def run_under_sandbox(
    tool: ToolLike,
    args: Mapping[str, Any] | Sequence[Any],
    policy: SandboxPolicy | None = None,
    *,
    limits: Limits | None = None,
) -> ToolResult:
    """Runs a tool under its policy, with arguments by name (a mapping) or in order (a list).

    `policy` is needed for what was not declared with one. It may be stronger than what was
    declared, and never weaker. `limits` stand in place of the declared ones.

    A tool that raises is a `ToolResult` that is not ok. One that the sandbox ended is raised as
    `SandboxToolError`, a `ToolError` with a text such as `sandbox: timeout`.
    """
    if isinstance(tool, SandboxedTool):
        declared = tool
        policy = declared.policy if policy is None else _checked_policy(policy)
        if _STRENGTH.index(policy) < _STRENGTH.index(declared.policy):
            raise RequestError(
                f"the tool {declared.name} was declared {declared.policy.name}, and "
                f"{policy.name} is weaker",
                hint="change the declaration, if that is what you want",
            )
        limits = declared.limits if limits is None else limits
    elif policy is None:
        raise RequestError(
            f"{shown(getattr(tool, '__name__', tool), 80)} was declared without a policy",
            hint="declare it with @sandboxed(SandboxPolicy.SUBPROCESS), or pass a policy",
        )
    else:
        declared = SandboxedTool(tool, policy)
    limits = _checked_limits(policy, limits)
    if isinstance(args, Mapping):
        return declared._run((), args, policy, limits)
    if isinstance(args, (list, tuple)):
        return declared._run(args, {}, policy, limits)
    raise RequestError(
        f"the arguments of a tool must be a mapping or a list, not {type(args).__name__}"
    )


_STRENGTH = list(SandboxPolicy)

_BY_LIMIT = {
    "memory_bytes": "memory",
    "processes": "processes",
    "threads": "threads",
    "file_bytes": "files",
    "files": "files",
    "open_files": "files",
    "printed_bytes": "output",
    "denials": "denied",
}

_BY_ENDING = {
    Ending.TIMEOUT: "timeout",
    Ending.RESULT: "result",
    Ending.DENIED: "denied",
    Ending.CRASH: "crash",
    Ending.CANCELLED: "cancelled",
}


def _checked_policy(policy: SandboxPolicy) -> SandboxPolicy:
    if not isinstance(policy, SandboxPolicy):
        raise RequestError(
            f"a policy must be a SandboxPolicy, was {shown(policy, 80)}",
            hint="write SandboxPolicy.SUBPROCESS",
        )
    return policy


def _checked_limits(policy: SandboxPolicy, limits: Limits | None) -> Limits | None:
    if limits is not None and not isinstance(limits, Limits):
        raise RequestError(
            f"limits must be carboy.Limits, was {shown(limits, 80)}",
            hint="write limits=carboy.Limits(wall_ms=5000)",
        )
    if limits is not None and policy is SandboxPolicy.PERMISSIVE:
        raise RequestError(
            "limits do not apply to a PERMISSIVE tool, which has no sandbox",
            hint="take SandboxPolicy.SUBPROCESS, or leave the limits out",
        )
    return limits


def _run_without_sandbox(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> ToolResult:
    try:
        return ToolResult(True, function(*args, **kwargs))
    except Exception as error:
        return ToolResult(False, error=one_line(f"{type(error).__name__}: {error}"))


def _run_in_jar(
    source: ToolSource, args: Sequence[Any], kwargs: Mapping[str, Any], limits: Limits | None
) -> ToolResult:
    program = source.program()
    fault = script_fault(program)
    if fault is not None:
        return ToolResult(False, error=fault)
    inputs = {"tool_args": list(args), "tool_kwargs": dict(kwargs)}
    outcome = run(program, inputs=inputs, policy=Policy(limits=limits, strict=True))
    ending = ending_of(outcome)
    cause = _BY_ENDING.get(ending)
    if ending is Ending.LIMIT and outcome.error is not None and outcome.error.limit is not None:
        cause = _BY_LIMIT.get(outcome.error.limit.name, outcome.error.limit.name)
    if cause is not None:
        raise SandboxToolError(cause, outcome)
    if ending is not Ending.OK:
        return ToolResult(False, error=words_of(outcome), outcome=outcome)
    if isinstance(outcome.result, dict) and "value" in outcome.result:
        return ToolResult(True, outcome.result["value"], outcome=outcome)
    return ToolResult(False, error="the tool left before it returned", outcome=outcome)
