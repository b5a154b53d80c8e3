"""Texts that are compared with files. `CARBOY_BLESS=1` writes the files anew."""

from __future__ import annotations

import os
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "snapshots"

# What differs from run to run and from machine to machine.
_VARYING = [
    (re.compile(r"^used: .*$", re.MULTILINE), "used: ..."),
    (re.compile(r"\b\d+\.\d ms\)$", re.MULTILINE), "N ms)"),
    (re.compile(r"CPython 3\.\d+"), "CPython 3.N"),
    (re.compile(r"^(Packages beside the standard library:) .*$\n\n", re.MULTILINE), ""),
    (re.compile(r"^\| +[~^]+$\n", re.MULTILINE), ""),  # where in the line it was, from 3.11 on
]


def matches(name: str, text: str) -> None:
    for pattern, instead in _VARYING:
        text = pattern.sub(instead, text)
    path = FOLDER / f"{name}.txt"
    if os.environ.get("CARBOY_BLESS") == "1":
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; CARBOY_BLESS=1 writes it anew"
