"""An executor for smolagents: `CodeAgent(..., executor=CarboyExecutor())`.

The local executor of smolagents is no sandbox, as its own documentation says, and the others need a
service or a daemon. Here every step runs in a fresh jar. Tools and managed agents stay outside; calls
to them come out of the jar as JSON.

A jar keeps nothing, and an agent expects to find its variables in the next step. So each step answers
with them and the next one gets them back, as pickles that only jars open; here they are text. Kept are
variables that can be pickled, and the imports, functions and classes that stand at the top level of a
step, whose source runs again. Not kept are lambdas, generators, open files, files, what is too large,
and all that a step did that failed. The agent is told which names it lost. Two variables that were one
object are two afterwards.

The final answer and what tools take and return must be JSON. A tool's exception reaches the agent by
name only, unless it is a `carboy.ToolError`. `additional_authorized_imports` is only told to the
model; the walls hold without it. Needs `smolagents`.
"""

from __future__ import annotations

import base64
import functools
import inspect
import os
import pickle
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

from smolagents.local_python_executor import CodeOutput, InterpreterError, PythonExecutor

from .. import RequestError, RunError, Sandbox, Tool, ToolError
from .._policy import PolicyLike, policy_body
from .._visible import ending, one_line, visible
from ._tool import fault

_STEP = files(__package__).joinpath("_smolagents_step.py").read_text(encoding="utf-8")
# The step's own frames have another name than the agent's, whose lines are told.
_CODE = f'exec(compile({_STEP!r}, "step.py", "exec"))'
_MOST_LOGS = 50_000
_MOST_OUTPUT = 20_000
# What is kept goes in again as an input, of which there may be 16 MiB.
_MOST_KEPT = 12 << 20

INSTRUCTIONS = (
    "Code runs in a sealed process without network, without other programs and without the files of "
    "the host. Variables, imports, functions and classes are kept from step to step, but for open "
    "files, generators, lambdas and very large data. Files are gone after each step, and a step that "
    "fails keeps nothing. The final answer must be JSON."
)
"""For `CodeAgent(instructions=...)`: what the model should know of its jar."""


class CarboyExecutor(PythonExecutor):  # type: ignore[misc]  # smolagents has no types.
    """Runs the steps of one agent in jars. `python`, `preload` and `policy` are those of a `Sandbox`.

    `keep_bytes` is how large all that is kept may be. `tool_budget` is in seconds: a tool call's own
    time up to this does not count as the step's.
    """

    def __init__(
        self,
        *,
        python: str | os.PathLike[str] | None = None,
        preload: Iterable[str] = (),
        policy: PolicyLike | None = None,
        keep_bytes: int = 8 << 20,
        tool_budget: float = 120.0,
    ) -> None:
        body = policy_body(policy)
        if body.get("language"):
            raise RequestError(
                "a language profile cannot read an agent's steps, which go into the jar as data",
                hint="leave `language` out of the policy; the walls hold without it",
            )
        if not 0 <= keep_bytes <= _MOST_KEPT:
            raise RequestError(f"keep_bytes must be between 0 and {_MOST_KEPT}, was {keep_bytes}")
        limits = {**body.get("limits", {}), "result_bytes": keep_bytes + (1 << 20)}
        modules = dict.fromkeys(["ast", "base64", "pickle", *preload])
        self._box = Sandbox(python=python, preload=modules, policy={**body, "limits": limits})
        self._most = keep_bytes
        self._budget = tool_budget
        self._tools: dict[str, Tool] = {}
        self._answers: list[Any] = []
        self._definitions: dict[str, str] = {}
        self._variables: dict[str, str] = {}
        # Where smolagents looks for what a step printed before it failed.
        self.state = {"_print_outputs": ""}

    def send_tools(self, tools: Mapping[str, Any]) -> None:
        """Takes the tools and managed agents that the code may call."""
        functions = {name: _function(tool) for name, tool in tools.items()}
        if "final_answer" in functions:
            functions["final_answer"] = _heard(functions["final_answer"], self._answers)
        self._tools = {name: Tool(each, name, self._budget) for name, each in functions.items()}

    def send_variables(self, variables: Mapping[str, Any]) -> None:
        """Takes variables for the code. They are pickled here and opened in jars."""
        for name, value in variables.items():
            try:
                self._variables[name] = base64.b64encode(pickle.dumps(value)).decode()
            except Exception as error:
                raise RequestError(
                    f"the variable {name!r} cannot be pickled", [str(error)]
                ) from None

    def __call__(self, code_action: str) -> CodeOutput:
        """Runs one step."""
        why = fault(code_action)
        if why is not None:
            raise InterpreterError(why)
        self._answers.clear()
        step = {
            "code": code_action,
            "definitions": self._definitions,
            "variables": self._variables,
            "tools": list(self._tools),
            "most": self._most,
        }
        outcome = self._box.run(_CODE, {"_step": step}, tools=self._tools.values())
        logs = self.state["_print_outputs"] = _bounded(outcome.stdout) + _bounded(outcome.stderr)
        try:
            said = outcome.raise_for_error().result
        except RunError as error:
            raise InterpreterError(f"{error}\nNothing of this step is kept.") from error
        said = said if isinstance(said, dict) else {}
        self._definitions = _texts(said.get("definitions"))
        self._variables = _texts(said.get("variables"))
        lost = said.get("lost")
        if isinstance(lost, list) and lost:
            logs += f"Not kept for the next step: {one_line(', '.join(map(str, lost)))}\n"
        if self._answers:
            return CodeOutput(output=self._answers[0], logs=logs, is_final_answer=True)
        output = said.get("output")
        shown = visible(output[:_MOST_OUTPUT]) if isinstance(output, str) else output
        return CodeOutput(output=shown, logs=logs, is_final_answer=False)

    def cleanup(self) -> None:
        """Ends the engine. smolagents calls it when `with CodeAgent(...)` ends."""
        self._box.close()


def _function(tool: Any) -> Callable[..., Any]:
    """What a tool or managed agent does, with the signature that its author wrote."""
    if not hasattr(tool, "forward"):

        def delegate(task: str, additional_args: dict[str, Any] | None = None) -> Any:
            return tool(task, additional_args=additional_args)

        delegate.__doc__ = tool.description
        return delegate

    def call(*args: Any, **kwargs: Any) -> Any:
        if not tool.is_initialized:
            tool.setup()
        return tool.forward(*args, **kwargs)

    functools.update_wrapper(call, tool.forward)
    signature = inspect.signature(tool.forward)
    named = [each for name, each in signature.parameters.items() if name != "self"]
    call.__dict__["__signature__"] = signature.replace(parameters=named)
    call.__doc__ = tool.description
    return call


def _heard(final_answer: Callable[..., Any], answers: list[Any]) -> Callable[..., None]:
    @functools.wraps(final_answer)
    def heard(*args: Any, **kwargs: Any) -> None:
        # A step has one. Whoever gives more is after the memory of the host.
        if answers:
            raise ToolError("the final answer was given already")
        answers.append(final_answer(*args, **kwargs))

    return heard


def _bounded(text: str) -> str:
    kept, note = ending(text, _MOST_LOGS)
    return f"({note})\n{kept}" if note else kept


def _texts(said: Any) -> dict[str, str]:
    pairs = said.items() if isinstance(said, dict) else ()
    return {name: text for name, text in pairs if isinstance(text, str)}
