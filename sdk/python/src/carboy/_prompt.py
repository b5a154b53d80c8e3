"""What a language model has to know to write code for a box: a section for its system prompt.

The same box gives the same text, so that it can be cached and compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ._annotations import Kind, fields_of, kind_of
from ._explain import size
from ._limits import SIZES, UNITS, WORDS
from ._packages import Package, importable
from ._policy import limits_in_force
from ._request import Settings
from ._tools import Tool, spelled
from ._visible import one_line

# More would not be read.
_MOST_PACKAGES = 150
_SIZE = re.compile(r"\s*(\d+)\s*([A-Za-z]*)\s*")
_PROFILES = {
    "agent": "The code is checked before it runs. Write it for data work: modules for processes, "
    "networks, native code or the interpreter itself are refused, and so are names that begin "
    "with an underscore.",
    "hook": "The code is checked before it runs. Write a small script that only computes: few "
    "modules are granted, there are no files, and names that begin with an underscore are refused.",
}

_ANSWERS = (
    "Inputs are variables that are set before the code begins.{frames} To answer, assign to `result` or "
    "end with an expression. {form} What is printed is returned too. `await` works outside of "
    "functions."
)
_FRAMES = (
    " Frames and arrays among them are what their caller had: of pandas, polars, pyarrow or numpy. A file "
    "that was named as a frame is a variable too: a polars `LazyFrame` if the code imports polars, else a "
    "pandas `DataFrame` if it imports pandas, else a `Dataset` if it imports pyarrow; with no such import "
    "pandas is taken, if it is installed."
)
_LIBRARIES = frozenset(("numpy", "pandas", "polars", "pyarrow"))
_STRICT = "The answer must be JSON: dicts with text keys, lists, text, numbers, booleans or None."
_CONVERTED = (
    "The answer becomes JSON: frames become lists of records (at most 1000 rows), arrays, sets and "
    "tuples lists, dates text by ISO 8601, durations seconds, `Decimal`, paths and UUIDs text, bytes "
    "base64, dataclasses and models dicts, NaN null. Figures, tables and "
    "pictures are shown as in a notebook: `plt.show()`, `fig.show()`, `display(x)`, or as the answer."
)


def prompt_for(settings: Settings, python: str | None, policy: Mapping[str, Any]) -> str:
    """The section for the runs of a box under a policy. `python` is the interpreter's version, if known."""
    # What a server has is not known here.
    packages = [] if settings.address is not None else importable(settings.python, policy)
    parts = [
        _place(settings, python, policy),
        *_packages(packages),
        _answers(policy, packages),
        _limits(policy),
    ]
    language = _language(policy)
    if language:
        parts.append(language)
    if settings.tools.by_name:
        parts.append(_tools(settings.tools.by_name))
    return "\n\n".join(["# Running Python code", *parts]) + "\n"


def _place(settings: Settings, python: str | None, policy: Mapping[str, Any]) -> str:
    version = f" {'.'.join(python.split('.')[:2])}" if python else ""
    lines = [
        f"Code runs in a sealed CPython{version}. Each run starts in a fresh process; nothing is "
        "kept from one run to the next.",
        "",
        "- There is no network.",
    ]
    children = limits_in_force(policy)["processes"]
    if children:
        lines.append(
            f"- Up to {children} child processes can be started, with `multiprocessing` or `os.fork`; "
            "no other program."
        )
    else:
        lines.append("- No child processes and no other programs can be started.")
    lines += [
        "- The files of the host are not there. Files can be written in the current directory and "
        "in the temporary directory; they are gone after the run.",
        "- There is no standard input, and nobody to ask: `input()` fails.",
        "- This is not a notebook: no `!pip` or other lines that begin with `!` or `%`.",
    ]
    if settings.preload:
        names = ", ".join(f"`{name}`" for name in settings.preload)
        lines.append(f"- Already loaded, so that importing takes no time: {names}.")
    return "\n".join(lines)


def _answers(policy: Mapping[str, Any], packages: list[Package]) -> str:
    form = _STRICT if policy.get("strict") else _CONVERTED
    has_frames = not _LIBRARIES.isdisjoint(package.module for package in packages)
    return _ANSWERS.format(form=form, frames=_FRAMES if has_frames else "")


def _packages(packages: list[Package]) -> list[str]:
    if not packages:
        return []
    words = [
        f"`{one.module}` {one.version}" + ("" if _same(one.module, one.name) else f" ({one.name})")
        for one in packages
    ]
    more = f" and {len(words) - _MOST_PACKAGES} more" if len(words) > _MOST_PACKAGES else ""
    listed = ", ".join(words[:_MOST_PACKAGES])
    return [f"Packages beside the standard library: {listed}{more}. No others can be installed."]


def _same(module: str, name: str) -> bool:
    return module.lower() == re.sub(r"[-.]", "_", name).lower()


# How many child processes there may be stands above, and what is about sessions no run meets.
_UNSAID = ("processes", "heads", "session_memory_bytes", "idle_ms", "lifetime_ms")


def _limits(policy: Mapping[str, Any]) -> str:
    limits = limits_in_force(policy)
    names = [name for name in WORDS if name not in _UNSAID]
    lines = [WORDS[name].format(_value(name, limits[name])) for name in names]
    first = (
        "These are the limits. What is shown, kept or left beyond them is cut or left out; "
        "any other ends the run:"
    )
    return "\n".join([first, "", *_listed(lines)])


def _listed(lines: list[str]) -> list[str]:
    return [f"- {line}" for line in lines]


def _language(policy: Mapping[str, Any]) -> str:
    language = policy.get("language")
    if not isinstance(language, Mapping):
        return ""
    text = _PROFILES.get(str(language.get("profile")), "")
    imports = language.get("imports")
    if text and imports:
        text += f" Also granted: {', '.join(f'`{name}`' for name in imports)}."
    return text


def _tools(tools: Mapping[str, Tool]) -> str:
    lines = [
        "These functions are there by name, and can be imported from the module `tools`. They run "
        "outside, and take and return JSON. Call those that are `async` with `await`. Wrong "
        "arguments raise `TypeError`; a tool that fails raises `tools.ToolError`.",
        "",
        "```python",
    ]
    types = _types(tools)
    lines += [*types, ""] if types else []
    for at, tool in enumerate(tools.values()):
        lines += [""] if at else []
        lines += _stub(tool)
    return "\n".join([*lines, "```"])


def _types(tools: Mapping[str, Tool]) -> list[str]:
    """What the classes in the signatures are as JSON. The code does not have the classes."""
    found: dict[str, str] = {}

    def look(kind: Kind) -> None:
        for part in kind.parts:
            look(part)
        if kind.shape not in ("enum", "record") or kind.spelling in found:
            return
        if kind.shape == "enum":
            values = ", ".join(json.dumps(member.value, default=str) for member in kind.source)
            found[kind.spelling] = f"one of {values}"
            return
        found[kind.spelling] = ""  # It may hold itself.
        fields = fields_of(kind.source)
        words = [
            f'"{field.name}": {field.kind().spelling}{"" if field.required else " (may be left out)"}'
            for field in fields
        ]
        found[kind.spelling] = f"a dict: {{{', '.join(words)}}}"
        for field in fields:
            look(field.kind())

    for tool in tools.values():
        signature = tool.signature
        for annotation in [one.annotation for one in signature.parameters.values()]:
            look(kind_of(annotation))
        look(kind_of(signature.return_annotation))
    return [f"# {name} is {one_line(text, 1000)}" for name, text in found.items()]


def _stub(tool: Tool) -> list[str]:
    word = "async def" if tool.is_async else "def"
    lines = [f"{word} {tool.name}{spelled(tool.signature)}:"]
    # A docstring that could end the stub, or the block around it, is written so that it cannot.
    text = tool.description.replace("\\", "\\\\").replace('"""', "'''").replace("```", "'''")
    if not text:
        return [f"{lines[0]} ..."]
    first, *rest = text.split("\n")
    if not rest:
        return [*lines, f'    """{first}"""']
    body = [f"    {line}" if line else "" for line in rest]
    return [*lines, f'    """{first}', *body, '    """']


def _value(name: str, value: Any) -> str:
    """The value of a limit as people read it."""
    unit = UNITS[name]
    if unit == "ms":
        return _seconds(value)
    return _bytes(value) if unit == "bytes" else str(value)


def _seconds(time: Any) -> str:
    if not isinstance(time, int):
        return f"{time} ms"
    return f"{time} ms" if time < 1000 or time % 100 else f"{time / 1000:g} s"


def _bytes(value: Any) -> str:
    """A limit as people read it; what cannot be read is shown as it is."""
    if isinstance(value, str):
        found = _SIZE.fullmatch(value)
        if found is None or found[2] not in ("", *SIZES):
            return value
        value = int(found[1]) * SIZES.get(found[2], 1)
    if not isinstance(value, int):
        return str(value)
    if value and value % 1000 == 0 and value < 1_000_000:
        return f"{value // 1000} kB"
    return size(value)
