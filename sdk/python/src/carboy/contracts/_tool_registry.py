"""The tools of an agent, found by the name that a model writes.

An agent's loop has a name and arguments, and neither is its own. What it finds here has a policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._errors import RequestError, ToolError
from .._limits import Limits
from .._visible import one_line, shown
from ._tool_policy import SandboxedTool, SandboxPolicy, ToolLike, ToolResult, run_under_sandbox


class ToolRegistry:
    """The tools of an agent by name."""

    def __init__(self) -> None:
        self._tools: dict[str, SandboxedTool] = {}

    def register(
        self,
        tool: ToolLike,
        policy: SandboxPolicy | None = None,
        *,
        name: str | None = None,
        limits: Limits | None = None,
    ) -> SandboxedTool:
        """Adds a function or a `ToolSource` with its policy, or a tool that has one already."""
        if isinstance(tool, SandboxedTool):
            if policy is not None or limits is not None:
                raise RequestError(f"the tool {tool.name} has a policy; register it as it is")
            added = tool
        elif policy is None:
            raise RequestError(
                "a tool needs a policy",
                hint="write register(tool, policy=SandboxPolicy.SUBPROCESS)",
            )
        else:
            added = SandboxedTool(tool, policy, name=name, limits=limits)
        name = name if name is not None else added.name
        if name in self._tools:
            raise RequestError(f"two tools have the name {name!r}", hint="pass another name=")
        self._tools[name] = added
        return added

    @property
    def names(self) -> list[str]:
        """The names of the tools, in the order they came."""
        return list(self._tools)

    def run(self, name: str, args: Mapping[str, Any] | Sequence[Any]) -> ToolResult:
        """Runs a tool by its name, as `run_under_sandbox` does.

        A name that nobody registered is a `ToolError`: a model wrote it, and can write another.
        """
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = one_line(", ".join(self._tools))
            raise ToolError(f"there is no tool {shown(name, 80)}; there are: {known}")
        return run_under_sandbox(tool, args)
