"""Functions of the caller's that code in a jar may call.

A jar knows of a tool only what is written here: its name, and its signature and docstring as `help`
shows them. The call itself comes out as JSON, runs on the caller's side, and its answer goes back
as JSON.
"""

from __future__ import annotations

import functools
import inspect
import keyword
import math
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from typing import Any

from ._annotations import ANY, Kind, Unresolved, fields_of, hints_of, kind_of
from ._arguments import Parameters
from ._errors import RequestError
from ._json import encoded

# Names that the code has already.
_TAKEN = ("context", "result", "tools")
_MOST_BUDGET = 24 * 3600


class Tool:
    """A function that code in a jar may call.

    `budget` is in seconds: a call's own time up to this does not count as the run's.
    """

    function: Callable[..., Any]
    name: str
    is_async: bool
    budget: float
    signature: Signature
    parameters: Parameters

    def __init__(
        self, function: Callable[..., Any], name: str | None = None, budget: float = 0.0
    ) -> None:
        if not callable(function):
            raise RequestError(
                f"a tool must be a function, not {type(function).__name__}",
                hint="pass the function itself, or carboy.Tool(function)",
            )
        self.function = function
        self.name = _checked_name(name if name is not None else getattr(function, "__name__", ""))
        self.budget = _checked_budget(self.name, budget)
        self.is_async = _is_async(function)
        hidden = _bound_by_name(function)
        try:
            self.signature = _signature(function, hidden)
            for parameter in self.signature.parameters.values():
                _resolve(kind_of(parameter.annotation), set())
        except Unresolved as error:
            raise RequestError(
                f"{self.name}: the annotation of {error.name} cannot be checked: {error}",
                hint="import what it names at run time too, or leave the annotation out",
            ) from None
        self.parameters = Parameters(self.name, self.signature, hidden)

    @property
    def heading(self) -> str:
        """How it is called: `search(query: str) -> list[str]`."""
        return f"{'async ' if self.is_async else ''}{self.name}{spelled(self.signature)}"

    @property
    def description(self) -> str:
        """Its docstring, or nothing."""
        function: Any = self.function
        while isinstance(function, functools.partial):
            function = function.func
        written = function.__doc__
        if not inspect.isroutine(function) and not isinstance(function, type):
            written = type(function).__call__.__doc__ or type(function).__doc__
        return inspect.cleandoc(written) if isinstance(written, str) else ""

    @property
    def doc(self) -> str:
        """What `help` shows of it inside the jar."""
        description = self.description
        return f"{self.heading}\n\n{description}" if description else self.heading

    def to_dict(self) -> dict[str, Any]:
        """The tool in the engine's own form."""
        body: dict[str, Any] = {"name": self.name, "doc": self.doc}
        if self.is_async:
            body["async"] = True
        if self.budget:
            body["budget_ms"] = math.ceil(self.budget * 1000)
        return body

    def __repr__(self) -> str:
        return f"Tool({self.heading})"


ToolLike = Tool | Callable[..., Any]


class Toolbox:
    """The tools of one run by name, and what is sent of them."""

    def __init__(self, tools: Iterable[ToolLike]) -> None:
        if isinstance(tools, Tool) or callable(tools):
            raise RequestError("tools must be a list of functions", hint="write tools=[function]")
        self.by_name: dict[str, Tool] = {}
        for each in tools:
            tool = each if isinstance(each, Tool) else Tool(each)
            if tool.name in self.by_name:
                raise RequestError(
                    f"two tools have the name {tool.name!r}",
                    hint="name one of them with carboy.Tool(function, name=...)",
                )
            self.by_name[tool.name] = tool
        bodies = [tool.to_dict() for tool in self.by_name.values()]
        try:
            self.json = encoded(bodies) if bodies else b""
        except Exception as error:
            raise RequestError(f"the docstring of a tool cannot be sent: {error}") from None

    def with_more(self, tools: Iterable[ToolLike]) -> Toolbox:
        """These tools and some more."""
        return Toolbox([*self.by_name.values(), *Toolbox(tools).by_name.values()])


def _checked_name(name: Any) -> str:
    hint = "name it with carboy.Tool(function, name=...)"
    fault = name_fault(name)
    if not fault and (name.startswith("_") or name in _TAKEN):
        fault = "it is reserved"
    if fault:
        raise RequestError(f"a tool cannot have the name {name!r}: {fault}", hint=hint)
    return str(name)


def name_fault(name: Any) -> str:
    """Why code cannot use something as a name; nothing if it can."""
    if not isinstance(name, str) or not name.isidentifier():
        return "it is not a valid Python identifier"
    return "it is a Python keyword" if keyword.iskeyword(name) else ""


def _checked_budget(name: str, budget: Any) -> float:
    is_number = isinstance(budget, (int, float)) and not isinstance(budget, bool)
    if not is_number or not 0 <= budget <= _MOST_BUDGET:
        raise RequestError(
            f"the budget of {name} must be between 0 and {_MOST_BUDGET} seconds, was {budget!r}"
        )
    return float(budget)


def _is_async(function: Callable[..., Any]) -> bool:
    if inspect.iscoroutinefunction(function):
        return True
    call = getattr(function, "__call__", None)
    return not inspect.isroutine(function) and inspect.iscoroutinefunction(call)


def _bound_by_name(function: Callable[..., Any]) -> frozenset[str]:
    """What the caller has bound by name. It is not the code's to change."""
    hidden: set[str] = set()
    while isinstance(function, functools.partial):
        hidden.update(function.keywords)
        function = function.func
    return frozenset(hidden)


def _resolve(kind: Kind, seen: set[Any]) -> None:
    """Looks at all that an annotation consists of, so that what means nothing is found now."""
    for part in kind.parts:
        _resolve(part, seen)
    if kind.shape == "record" and kind.source not in seen:
        seen.add(kind.source)
        for field in fields_of(kind.source):
            _resolve(field.kind(), seen)


def _signature(function: Callable[..., Any], hidden: frozenset[str]) -> Signature:
    """What the code may pass, with annotations resolved."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some functions written in C do not say what they take. They check it themselves.
        return Signature([Parameter("args", Parameter.VAR_POSITIONAL)])
    source: Any = function
    while isinstance(source, functools.partial):
        source = source.func
    if isinstance(source, type):
        source = vars(source).get("__init__", source)
    elif not inspect.isroutine(source):
        source = getattr(source, "__call__", source)
    hints = hints_of(inspect.unwrap(source))
    kept = [
        parameter.replace(annotation=hints.get(parameter.name, parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name not in hidden
    ]
    return Signature(kept, return_annotation=hints.get("return", signature.return_annotation))


def spelled(signature: Signature) -> str:
    """A signature as a reader expects it: `(query: str, most: int = 10) -> list[str]`."""
    words: list[str] = []
    before = None
    for parameter in signature.parameters.values():
        kind = parameter.kind
        if before is Parameter.POSITIONAL_ONLY and kind is not Parameter.POSITIONAL_ONLY:
            words.append("/")
        if kind is Parameter.KEYWORD_ONLY and before not in (
            Parameter.KEYWORD_ONLY,
            Parameter.VAR_POSITIONAL,
        ):
            words.append("*")
        words.append(_spelled_parameter(parameter))
        before = kind
    if before is Parameter.POSITIONAL_ONLY:
        words.append("/")
    returned = signature.return_annotation
    arrow = "" if returned is Signature.empty else f" -> {kind_of(returned).spelling}"
    return f"({', '.join(words)}){arrow}"


def _spelled_parameter(parameter: Parameter) -> str:
    text = parameter.name
    if parameter.kind is Parameter.VAR_POSITIONAL:
        text = f"*{text}"
    elif parameter.kind is Parameter.VAR_KEYWORD:
        text = f"**{text}"
    annotated = parameter.annotation is not Parameter.empty
    if annotated:
        kind = kind_of(parameter.annotation)
        text += ": Any" if kind is ANY else f": {kind.spelling}"
    if parameter.default is not Parameter.empty:
        # What else could be a default has no short name, and may say what the code must not know.
        plain = parameter.default is None or type(parameter.default) in (bool, int, float, str)
        default = repr(parameter.default) if plain else "..."
        text += f" = {default}" if annotated else f"={default}"
    return text
