"""A LangChain tool that runs Python: give it to an agent or bind it to a model.

The model gets `Outcome.explain()` as the tool's content. The `Outcome` itself is the artifact of the
tool message, for the program around the model. Needs `langchain-core`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from langchain_core.tools import StructuredTool, ToolException

from .. import AsyncSandbox, Outcome, Sandbox
from ._tool import CODE, DESCRIPTION, NAME, fault


def python_tool(
    box: Sandbox | AsyncSandbox, *, name: str = NAME, description: str = DESCRIPTION
) -> StructuredTool:
    """A tool that runs code in the box.

    With a `Sandbox` it can be invoked and awaited; awaited, it waits in a thread, and a run whose task
    is cancelled goes on until it ends. With an `AsyncSandbox` it can only be awaited, and cancelling
    ends the run.

    Put `box.prompt()` into the system prompt: it names the box's limits and the functions that the
    code may call.
    """
    run, run_async = None, None
    if isinstance(box, AsyncSandbox):
        run_async = _awaited(box)
    else:
        run = _waited(box)
    return StructuredTool.from_function(
        run,
        run_async,
        name=name,
        description=description,
        response_format="content_and_artifact",
        handle_tool_error=True,
    )


def _waited(box: Sandbox) -> Callable[..., tuple[str, Outcome]]:
    def run(code: Annotated[str, CODE]) -> tuple[str, Outcome]:
        return _told(box.run(_usable(code), on_error="return"))

    return run


def _awaited(box: AsyncSandbox) -> Callable[..., Awaitable[tuple[str, Outcome]]]:
    async def run(code: Annotated[str, CODE]) -> tuple[str, Outcome]:
        return _told(await box.run(_usable(code), on_error="return"))

    return run


def _usable(code: str) -> str:
    why = fault(code)
    if why is not None:
        # The model is told this as the tool's content.
        raise ToolException(why)
    return code


def _told(outcome: Outcome) -> tuple[str, Outcome]:
    return outcome.explain(), outcome
