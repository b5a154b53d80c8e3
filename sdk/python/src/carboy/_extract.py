"""Takes the code out of what a language model wrote around it."""

from __future__ import annotations

import ast
import re
from textwrap import dedent

# The opening of a fenced block: its indentation, its marks, and the language that it names.
_FENCE = re.compile(r"[ \t]*(?P<marks>`{3,}|~{3,})[ \t]*\{?\.?(?P<language>[^\s`}]*)[^`]*")
_PYTHON = ("python", "py", "python3", "py3", "ipython", "ipython3", "tool_code")
# What only a notebook understands: shell lines, magics and questions.
_NOTEBOOK = re.compile(r"(?P<indent>[ \t]*)(?P<line>[!%?].*|[\w.]+\?{1,2}[ \t]*)")


def extract(text: str) -> str:
    """The Python code in a model's answer.

    Text that is Python already is returned as it is. Of a text with fenced blocks, the blocks that
    are marked as Python are taken, one after the other; if none is marked, those without a
    language. Lines that only a notebook understands, such as `!pip install` and `%matplotlib`, become
    comments behind `pass`, so that lines keep their numbers.

        >>> extract("Here it is:\\n```python\\nresult = 2\\n```\\nIt is two.")
        'result = 2\\n'
    """
    if _parses(text):
        return text
    blocks = _blocks(text)
    marked = [body for language, body in blocks if language.lower() in _PYTHON]
    plain = [body for language, body in blocks if not language]
    code = "\n".join(marked or plain) or text
    return code if _parses(code) else _without_notebook_lines(code)


def _blocks(text: str) -> list[tuple[str, str]]:
    """The language and the body of each fenced block. One that is not closed ends with the text."""
    found: list[tuple[str, str]] = []
    closing: re.Pattern[str] | None = None
    language, body = "", ""
    for line in text.splitlines(keepends=True):
        if closing is not None and closing.fullmatch(line.rstrip()):
            found.append((language, dedent(body)))
            closing = None
        elif closing is not None:
            body += line
        elif opening := _FENCE.fullmatch(line.rstrip()):
            marks = opening["marks"]
            closing = re.compile(rf"[ \t]*{marks[0]}{{{len(marks)},}}")
            language, body = opening["language"], ""
    if closing is not None:
        found.append((language, dedent(body)))
    return found


def _without_notebook_lines(code: str) -> str:
    lines = []
    for line in code.splitlines(keepends=True):
        text = line.rstrip("\r\n")
        found = _NOTEBOOK.fullmatch(text)
        if found:
            line = f"{found['indent']}pass  # {found['line']}{line[len(text) :]}"
        lines.append(line)
    return "".join(lines)


def _parses(code: str) -> bool:
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
