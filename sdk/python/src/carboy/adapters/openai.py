"""A tool that runs Python, for model interfaces that take tools as JSON and call them with JSON.

It needs no client library. `definition` is the form of OpenAI's chat completions, which most others
take too. Where the form differs, its parts are in `function`:

    {"type": "function", **tool.function}                         # OpenAI's responses
    {"name": tool.name, "description": tool.function["description"],
     "input_schema": tool.function["parameters"]}                 # Anthropic's messages

What the model sends is hostile too. A call that cannot be understood is answered with text that says
why, so that the model can try again; only the caller's mistakes and carboy's own failures are raised.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

from .. import Sandbox, Tool, schema
from .._visible import one_line
from ._tool import CODE, DESCRIPTION, MOST_CHARACTERS, NAME, fault


class PythonTool:
    """The tool: its definition for the model, and `call` for what the model asks.

    Put `box.prompt()` into the system prompt: it names the box's limits and the functions that the
    code may call. Threads may share a tool; in an event loop, `await asyncio.to_thread(tool.call, ...)`.
    """

    def __init__(self, box: Sandbox, *, name: str = NAME, description: str = DESCRIPTION) -> None:
        self._box = box
        self.name = name
        self.function: dict[str, Any] = {
            "name": name,
            "description": description,
            "parameters": schema(Tool(_parameters, name=NAME)),
            "strict": True,
        }

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as the model interface wants it."""
        return {"type": "function", "function": self.function}

    def call(self, arguments: str) -> str:
        """Runs what the model asked for. `arguments` is the JSON that it wrote."""
        try:
            code = _code(arguments)
        except _Misunderstood as error:
            return f"Nothing was run: {error}."
        return fault(code) or self._box.run(code, on_error="return").explain()


class _Misunderstood(Exception):
    """A call is not what the definition says."""


def _parameters(code: Annotated[str, CODE]) -> None:
    """What the tool takes."""


def _code(arguments: str) -> str:
    # In JSON a character is written with six at most.
    if len(arguments) > 6 * MOST_CHARACTERS + 100:
        raise _Misunderstood("the arguments are too long")
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        raise _Misunderstood(f"the arguments are not JSON ({one_line(str(error), 200)})") from None
    if not isinstance(given, dict) or set(given) != {"code"}:
        raise _Misunderstood('the arguments must be an object with the key "code" and no other')
    code = given["code"]
    if not isinstance(code, str):
        raise _Misunderstood(f'"code" must be text, not {type(code).__name__}')
    return code
