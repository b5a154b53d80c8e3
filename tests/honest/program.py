"""One program of the corpus: its header, and its text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "programs"

# Packages that take long to import or to work. Programs with one of them are in the second tier.
SLOW = frozenset(
    "lightgbm nltk numba plotly polars scipy seaborn shapely sklearn sqlalchemy statsmodels sympy "
    "tiktoken xgboost".split()
)

_LINE = re.compile(r"# (\w+): (.+)")
_KEYS = frozenset(
    "title packages preset limits grant expect check says agent extract outside".split()
)
_KINDS = ("ok", "refuse", "error", "limit", "crash")


class HeaderError(Exception):
    """A program whose header cannot be read."""


@dataclass(frozen=True)
class Program:
    """One program, and what a reasonable user expects of it."""

    name: str
    path: Path
    code: str
    title: str
    kind: str
    """`ok`, `refuse`, `error`, `limit` or `crash`."""
    what: str
    """The exception of an `error`, the name of a `limit`."""
    checks: tuple[str, ...]
    """Expressions over `result`, `stdout`, `stderr`, `files` and `displays` that must be true."""
    says: tuple[str, ...]
    """What the words for the author of the code must contain."""
    packages: tuple[str, ...]
    preset: str
    limits: dict[str, int | str] = field(hash=False)
    agent: str
    """`same`, or `refuse` where the language profile `agent` has good reason to."""
    extract: bool
    outside: bool

    @property
    def tier(self) -> int:
        """1 for programs that run in every gate, 2 for slow ones."""
        return 2 if SLOW.intersection(self.packages) else 1


def read(path: Path) -> Program:
    """Reads a program. What is wrong with its header is a `HeaderError`."""
    name = path.relative_to(PROGRAMS).with_suffix("").as_posix()
    code = path.read_text(encoding="utf-8")
    values: dict[str, list[str]] = {key: [] for key in _KEYS}
    lines = code.split("\n")
    end = 0
    while end < len(lines) and (found := _LINE.fullmatch(lines[end])):
        key, value = found.groups()
        if key not in _KEYS:
            raise HeaderError(f"{name}: line {end + 1}: there is no key {key!r}")
        values[key].append(value.strip())
        end += 1

    def one(key: str, otherwise: str | None = None) -> str:
        if len(values[key]) > 1 or (not values[key] and otherwise is None):
            raise HeaderError(f"{name}: must say `{key}:` once")
        return values[key][0] if values[key] else str(otherwise)

    kind, _, what = one("expect").partition(" ")
    if kind not in _KINDS or (kind in ("error", "limit")) != bool(what):
        raise HeaderError(f"{name}: `expect: {one('expect')}` is none of {', '.join(_KINDS)}")
    if kind == "refuse" and not values["says"]:
        raise HeaderError(f"{name}: a refusal must say with which words: `says:`")
    extract = one("extract", "no") == "yes"
    return Program(
        name=name,
        path=path,
        # The lines of the header stay, so that a line has the number that an editor shows.
        code="\n".join(lines[end:]) if extract else code,
        title=one("title"),
        kind=kind,
        what=what,
        checks=tuple(values["check"]),
        says=tuple(values["says"]),
        packages=tuple(one("packages", "").split()),
        preset=one("preset", "medium"),
        limits={**_limits(one("limits", "")), **_limits(one("grant", ""))},
        agent=one("agent", "same"),
        extract=extract,
        outside=one("outside", "yes") == "yes",
    )


def _limits(text: str) -> dict[str, int | str]:
    pairs = (pair.split("=", 1) for pair in text.split())
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def read_all(only: list[str], tier: int | None) -> list[Program]:
    """The programs of a tier, or of both, whose names contain one of the words."""
    programs = [read(path) for path in sorted(PROGRAMS.glob("*/*.py"))]
    return [
        program
        for program in programs
        if (not only or any(word in program.name for word in only))
        and (tier is None or program.tier == tier)
    ]
