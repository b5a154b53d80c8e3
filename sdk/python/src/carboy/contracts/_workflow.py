"""Code nodes of a workflow: settings in a file, inputs from others, an answer for the next.

A workflow either stops at a bad node or goes on without it. Both get the same words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._default import run
from .._errors import RequestError
from .._outcome import RunError
from ._checks import script_fault
from ._endings import Ending, ending_of, violations_of, words_of
from ._workflow_config import GlobalConfig, GlobalLike, NodeConfig, NodeLike

_TITLES = {
    Ending.SYNTAX: "Syntax error",
    Ending.GUARD: "Security violation",
    Ending.DENIED: "Security violation",
    Ending.TIMEOUT: "Timeout",
    Ending.RESULT: "Invalid output",
    Ending.LIMIT: "Limit exceeded",
    Ending.CRASH: "Crash",
    Ending.CANCELLED: "Cancelled",
    Ending.EXCEPTION: "Runtime error",
}


class NodeError(RunError):
    """The code of a node did not run to its end. The `RunError` of its kind is the cause."""

    def __str__(self) -> str:
        ending = ending_of(self.outcome)
        words = words_of(self.outcome)
        if ending in (Ending.SYNTAX, Ending.GUARD):
            words = "\n  ".join(map(str, violations_of(self.outcome)))
        return f"{_TITLES.get(ending, 'Error')}: {words}"


def run_node(
    code: str,
    inputs: Mapping[str, Any] | None = None,
    node_config: NodeLike = None,
    global_config: GlobalLike = None,
) -> dict[str, Any]:
    """Runs a node's code and returns `{"error": None, "output": ...}`.

    The code sees each of the `inputs` under its name, and answers with `result` or its last
    expression. `NodeConfig` and `GlobalConfig` list the settings. A path is read at every call;
    load it once if there are many.

    Under `on_error: continue` an error of the code is `{"error": text, "output": None}`. The text
    begins with `Syntax error`, `Security violation`, `Timeout`, `Limit exceeded`, `Invalid output`,
    `Crash` or `Runtime error`. Under `fail` a `NodeError` with that text is raised.

    Wrong settings and wrong inputs are no errors of the code. They are raised under both.
    """
    node, everywhere = NodeConfig.load(node_config), GlobalConfig.load(global_config)
    policy = everywhere.policy_for(node)
    on_error = node.on_error if node.on_error is not None else everywhere.default_on_error
    fault = script_fault(code)
    if fault is not None:
        if on_error == "continue":
            return _failure(f"{_TITLES[Ending.SYNTAX]}: {fault}")
        raise RequestError(fault)
    outcome = run(code, inputs=inputs, policy=policy)
    if outcome.ok:
        return {"error": None, "output": outcome.result}
    if on_error == "continue":
        return _failure(str(NodeError(outcome)))
    try:
        outcome.raise_for_error()
    except RunError as cause:
        raise NodeError(outcome) from cause
    raise NodeError(outcome)


def _failure(text: str) -> dict[str, Any]:
    return {"error": text, "output": None}
