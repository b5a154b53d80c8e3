"""One step of a smolagents agent, as a jar runs it. Never imported: its text is sent into jars.

It puts back what earlier steps left, runs the agent's code in a module of its own, and answers with
what the next step shall find. The agent's code may do to this what it likes; the host believes none
of the answer.
"""

from __future__ import annotations

import ast
import base64
import json
import pickle
import sys
import types
from typing import Any, NoReturn

MOST_OUTPUT = 20_000


class Final(BaseException):
    """The agent gave its final answer. No `except Exception` of its own stops that."""


def final_answer(*args: Any, **kwargs: Any) -> NoReturn:
    """Hands the answer out and ends the step."""
    sys.modules["tools"].final_answer(*args, **kwargs)
    raise Final


def fails(source: str, space: dict[str, Any]) -> bool:
    """Whether a definition cannot be made again."""
    try:
        exec(compile(source, "<an earlier step>", "exec", dont_inherit=True), space)
    except Exception:
        return True
    return False


def restore(
    space: dict[str, Any], definitions: dict[str, str], variables: dict[str, str]
) -> list[str]:
    """Puts back what was kept. What cannot be is named, and no longer among the definitions."""
    missing = []
    # Objects need their classes, and the default of a parameter may need a variable.
    late = {name: source for name, source in definitions.items() if fails(source, space)}
    for name, text in variables.items():
        try:
            space[name] = pickle.loads(base64.b64decode(text))
        except Exception as error:
            missing.append(f"{name} ({type(error).__name__})")
    for name, source in late.items():
        if fails(source, space):
            missing.append(name)
            del definitions[name]
    return missing


def defined(tree: ast.Module, earlier: dict[str, str]) -> dict[str, str]:
    """The imports, functions and classes at the top level of all steps so far, as source."""
    found = dict(earlier)
    for node in tree.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found[ast.unparse(node)] = ast.unparse(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            # What is defined again may need what was defined since.
            found.pop(node.name, None)
            found[node.name] = ast.unparse(node)
    return found


def keep(
    space: dict[str, Any], definitions: dict[str, str], left: int
) -> tuple[dict[str, str], list[str]]:
    """The variables that the next step gets, and the names of those that it does not get."""
    variables: dict[str, str] = {}
    lost = []
    for name, value in list(space.items()):
        if name.startswith("_") or isinstance(value, types.ModuleType):
            continue
        try:
            if name in definitions and getattr(value, "__module__", None) == "__main__":
                continue
            text = base64.b64encode(pickle.dumps(value)).decode()
        except Exception:
            lost.append(f"{name} ({type(value).__name__})")
            continue
        if len(text) > left:
            lost.append(f"{name} ({type(value).__name__}, too large)")
            continue
        left -= len(text)
        variables[name] = text
    return variables, lost


def shown(value: Any) -> Any:
    """The value of the last expression: itself if it is short and JSON, else its beginning."""
    try:
        if len(json.dumps(value, allow_nan=False)) <= MOST_OUTPUT:
            return value
    except (TypeError, ValueError, RecursionError):
        pass
    return repr(value)[:MOST_OUTPUT]


def run(step: dict[str, Any]) -> dict[str, Any]:
    """Runs `code`, with the `definitions` and `variables` of earlier steps and the names in `tools`."""
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    space = main.__dict__
    lost = restore(space, step["definitions"], step["variables"])
    offered = sys.modules.get("tools")
    tools = {name: getattr(offered, name) for name in step["tools"]}
    space.update(tools)
    if "final_answer" in tools:
        space["final_answer"] = final_answer
    # Named as the engine names code, so that an error has the line of the agent's own.
    tree = ast.parse(step["code"], "job.py")
    last = tree.body[-1] if tree.body else None
    body = tree.body[:-1] if isinstance(last, ast.Expr) else tree.body
    output = None
    try:
        exec(compile(ast.Module(body, []), "job.py", "exec", dont_inherit=True), space)
        if isinstance(last, ast.Expr):
            tail = compile(ast.Expression(last.value), "job.py", "eval", dont_inherit=True)
            output = shown(eval(tail, space))
    except Final:
        pass
    except SystemExit as end:
        if end.code not in (None, 0):
            raise
    for name in tools:
        space.pop(name, None)
    definitions = defined(tree, step["definitions"])
    left = step["most"] - sum(map(len, definitions.values()))
    variables, more = keep(space, definitions, left)
    return {
        "output": output,
        "definitions": definitions,
        "variables": variables,
        "lost": lost + more,
    }


_step: dict[str, Any]
result = run(_step)
