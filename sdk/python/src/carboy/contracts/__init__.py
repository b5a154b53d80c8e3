"""Small functions for hosts of a known kind: games with mods, script runners, agents, workflows.

Each is thin: it turns a call of its own form into a run of `carboy.run`, in the one box that all
of this process shares, and the outcome into what such a host expects. Nothing here runs code
outside a jar but `SandboxPolicy.PERMISSIVE`, which says so.

Three things are never mixed. What the code did comes back as the contract says. The caller's
mistake is a `carboy.RequestError`. Our own failure is a `carboy.EngineError` or a
`carboy.BusyError`.
"""

from ._endings import Violation
from ._mod_hook import HookError, run_mod_hook
from ._not_built import NotBuiltError
from ._script import ScriptSandbox, create_sandbox
from ._tool_policy import (
    SandboxedTool,
    SandboxPolicy,
    SandboxToolError,
    ToolResult,
    run_under_sandbox,
    sandboxed,
)
from ._tool_registry import ToolRegistry
from ._tool_source import ToolSource
from ._workflow import NodeError, run_node
from ._workflow_config import GlobalConfig, NodeConfig

__all__ = [
    "GlobalConfig",
    "HookError",
    "NodeConfig",
    "NodeError",
    "NotBuiltError",
    "SandboxPolicy",
    "SandboxToolError",
    "SandboxedTool",
    "ScriptSandbox",
    "ToolRegistry",
    "ToolResult",
    "ToolSource",
    "Violation",
    "create_sandbox",
    "run_mod_hook",
    "run_node",
    "run_under_sandbox",
    "sandboxed",
]
