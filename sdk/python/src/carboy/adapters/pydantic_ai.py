"""A Pydantic AI toolset that runs Python: `Agent(model, toolsets=[python_toolset(box)])`.

The model gets `Outcome.explain()`. The `Outcome` itself is the metadata of the tool's return part, for
the program around the model. What the box says of itself goes into the agent's instructions. Needs
`pydantic-ai-slim`.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import FunctionToolset, ModelRetry, ToolReturn

from .. import AsyncSandbox, Outcome, Sandbox
from ._tool import DESCRIPTION, NAME, fault


def python_toolset(
    box: Sandbox | AsyncSandbox, *, name: str = NAME, description: str = DESCRIPTION
) -> FunctionToolset[Any]:
    """A toolset with one tool, which runs code in the box.

    With a `Sandbox` the run waits in a thread, and an agent that is cancelled leaves it to its end.
    With an `AsyncSandbox` cancelling ends the run.
    """
    toolset = FunctionToolset[Any](strict=True, instructions=box.prompt())
    if isinstance(box, AsyncSandbox):
        awaited = box

        async def run_async(code: str) -> ToolReturn[str]:
            return _told(await awaited.run(_usable(code), on_error="return"))

        toolset.add_function(run_async, takes_ctx=False, name=name, description=description)
    else:
        waited = box

        def run(code: str) -> ToolReturn[str]:
            return _told(waited.run(_usable(code), on_error="return"))

        toolset.add_function(run, takes_ctx=False, name=name, description=description)
    return toolset


def _usable(code: str) -> str:
    why = fault(code)
    if why is not None:
        raise ModelRetry(why)
    return code


def _told(outcome: Outcome) -> ToolReturn[str]:
    return ToolReturn(return_value=outcome.explain(), metadata=outcome)
