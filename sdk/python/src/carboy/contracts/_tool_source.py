"""A tool as text: what is sent to a jar in place of a function.

A function cannot be sent. Its text can, if the text says everything: a name that the function takes
from around it would be missing in the jar, and the tool would fail at its first call, perhaps in
the one branch that nobody tried. So what cannot be taken is refused when the tool is declared.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import keyword
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from .._errors import RequestError
from .._visible import shown

# What a jar's program finds beside the builtins.
_GIVEN = frozenset(dir(builtins)) | {"__name__", "__file__"}


@dataclass(frozen=True)
class ToolSource:
    """A text of Python, and the name of the function in it that is the tool.

    The whole text runs in the jar at every call, as a program does, and then the function is
    called. The text can come from anybody.
    """

    text: str
    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise RequestError(f"the text of a tool must be str, not {type(self.text).__name__}")
        is_name = isinstance(self.name, str) and self.name.isidentifier()
        if not is_name or keyword.iskeyword(self.name):
            raise RequestError(f"a tool cannot have the name {shown(self.name, 80)}")

    @classmethod
    def of(cls, function: Any) -> ToolSource:
        """The text of a function that stands in a file and needs nothing from around it.

        It must be a plain `def`: no lambda, no method, no builtin, no class, nothing wrapped by
        another decorator, nothing async. It must use no names of its module or of a function around
        it, but import inside what it needs. Annotations may say what they like; they are not looked
        at.
        """
        plain = _plain(function)
        try:
            text = "".join(inspect.getsourcelines(plain)[0])
        except (OSError, TypeError):
            raise _refusal(
                plain, "its source is not available", "define it in a file, or pass a ToolSource"
            ) from None
        taken = _definition(plain, text)
        _refuse_names_from_around(plain, taken)
        return cls(f"from __future__ import annotations\n{taken}\n", plain.__code__.co_name)

    def program(self) -> str:
        """What runs in the jar: the text, and one call with the inputs."""
        return f'{self.text}\nresult = {{"value": {self.name}(*tool_args, **tool_kwargs)}}\n'


def _refusal(function: Any, why: str, hint: str) -> RequestError:
    name = getattr(function, "__qualname__", None) or type(function).__name__
    return RequestError(f"{shown(name, 80)} cannot be a tool in a jar: {why}", hint=hint)


def _plain(function: Any) -> FunctionType:
    """The function, if it is one whose text can stand alone."""
    if inspect.ismethod(function):
        raise _refusal(function, "it is a method", "write a function at the top of a module")
    if not isinstance(function, FunctionType):
        kind = "a builtin" if inspect.isbuiltin(function) else f"a {type(function).__name__}"
        raise _refusal(function, f"it is {kind}, not a def", "write a def that calls it")
    if function.__code__.co_name == "<lambda>":
        raise _refusal(function, "it is a lambda", "write it as a def")
    around = function.__qualname__.rpartition(".")[0]
    if around and not around.endswith("<locals>"):
        raise _refusal(
            function, "it is defined in a class", "write a function at the top of a module"
        )
    if hasattr(function, "__wrapped__"):
        raise _refusal(
            function, "another decorator wraps it", "put the sandbox's decorator below the other"
        )
    refuse_async(function)
    if function.__closure__ is not None:
        names = ", ".join(function.__code__.co_freevars)
        raise _refusal(
            function, f"it uses {names} of the function around it", "pass that as an argument"
        )
    return function


def refuse_async(function: Any) -> None:
    """Refuses what would return something to be awaited."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise _refusal(function, "it is async", "write a plain def")


def _definition(function: FunctionType, text: str) -> str:
    """The lines of the `def` without its decorators, as they stand in the file.

    An indented one gets an `if` around it. Taking the indentation away would change texts inside.
    """
    indented = text[:1] in (" ", "\t")
    text = f"if True:\n{text}" if indented else text
    try:
        statement: ast.AST = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        statement = ast.Pass()
    if isinstance(statement, ast.If) and indented:
        statement = statement.body[0]
    if not isinstance(statement, ast.FunctionDef) or statement.name != function.__code__.co_name:
        raise _refusal(
            function,
            "its source file has changed",
            "restart the program",
        )
    lines = text.split("\n")[statement.lineno - 1 : statement.end_lineno]
    return "\n".join(["if True:", *lines] if indented else lines)


def _refuse_names_from_around(function: FunctionType, taken: str) -> None:
    tree = _WithoutAnnotations().visit(ast.parse(taken))
    table = symtable.symtable(ast.unparse(tree), "tool.py", "exec")
    used, defined = set[str](), set[str]()
    for symbol, at_top in _symbols(table):
        if symbol.is_assigned() and (at_top or symbol.is_declared_global()):
            defined.add(symbol.get_name())
        elif symbol.is_referenced() and (at_top or symbol.is_global()):
            used.add(symbol.get_name())
    missing = sorted(used - defined - _GIVEN)
    if missing:
        raise _refusal(
            function,
            f"it uses {', '.join(missing)} from outside of itself",
            "import and define inside the function what it needs, or pass it as an argument",
        )


def _symbols(table: symtable.SymbolTable) -> Iterator[tuple[symtable.Symbol, bool]]:
    """Every name of a program, and whether it stands outside of all functions and classes."""
    for symbol in table.get_symbols():
        yield symbol, table.get_type() == "module"
    for child in table.get_children():
        yield from _symbols(child)


class _WithoutAnnotations(ast.NodeTransformer):
    """Takes out what the jar does not evaluate, with `from __future__ import annotations`."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)
