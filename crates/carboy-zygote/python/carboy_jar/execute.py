"""Compiles the code of a job and runs it; its last expression is its value."""

from __future__ import annotations

import ast
import dis
import importlib
from types import CodeType

from .answers import NAME

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

    Space = dict[str, Any]

# How code ends that assigns to a name last: with an implicit `return None`.
STORE_NAME = bytes([dis.opmap["STORE_NAME"]])
ENDS = tuple(
    bytes(dis.opmap[name] for name in names)
    for names in (
        ("LOAD_CONST", "RETURN_VALUE"),  # to 3.11, and 3.14
        ("RETURN_CONST",),  # 3.12 and 3.13
        ("LOAD_COMMON_CONSTANT", "RETURN_VALUE"),  # from 3.15 on
    )
    if all(name in dis.opmap for name in names)
)
# The code may await outside of functions.
FLAGS, COROUTINE = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, 0x80


def ends_in_result(compiled: CodeType) -> bool:
    """Whether the last thing that the code does is to assign to `result`.

    Then its last statement is no expression, and there is no need to take it apart.
    """
    tail = compiled.co_code[-6:]
    at = tail.rfind(STORE_NAME, 0, -2)
    ends = tail[at + 2 :: 2] in ENDS
    return at in (0, 2) and ends and compiled.co_names[tail[at + 1]] == "result"


def execute(code: str, space: Space, name: str = NAME) -> Any:
    """Runs the code and returns the value of its last expression, if it ends in one."""
    compiled = compile(code, name, "exec", FLAGS, dont_inherit=True)
    if ends_in_result(compiled) and not compiled.co_flags & COROUTINE:
        exec(compiled, space)
        if "result" in space:
            return None
        # An expression behind it that is a constant leaves no trace in the code.
        end = parsed(code).body[-1]
        constant = isinstance(end, ast.Expr) and isinstance(end.value, ast.Constant)
        return end.value.value if constant else None  # type: ignore[attr-defined] # seen above
    tree = parsed(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if not isinstance(last, ast.Expr):
        return evaluate([compiled], space)
    tail = compile(ast.Expression(last.value), name, "eval", FLAGS, dont_inherit=True)
    return evaluate([compile(tree, name, "exec", FLAGS, dont_inherit=True), tail], space)


def parsed(code: str) -> ast.Module:
    """The syntax tree of the code."""
    tree: Any = compile(code, NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    return tree  # type: ignore[no-any-return] # by its mode


def evaluate(parts: list[CodeType], space: Space) -> Any:
    """Runs code that was compiled in parts, and returns the value of the last one."""
    if any(part.co_flags & COROUTINE for part in parts):
        return importlib.import_module("asyncio").run(awaited(parts, space))
    value = None
    for part in parts:
        value = eval(part, space)
    return value


async def awaited(parts: list[CodeType], space: Space) -> Any:
    """The same in an event loop, for code that awaits outside of functions."""
    value = None
    for part in parts:
        value = eval(part, space)
        if part.co_flags & COROUTINE:
            value = await value
    return value
