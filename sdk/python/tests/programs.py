"""Programs that a test starts: scripts that use carboy, and what pretends to be its engine."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def script(code: str, **options: object) -> Iterator[subprocess.Popen[str]]:
    """A Python program under way, with pipes. It is ended with the test."""
    process: subprocess.Popen[str] = subprocess.Popen(  # type: ignore[call-overload]
        [sys.executable, "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )
    try:
        with process:
            try:
                yield process
            finally:
                process.kill()
    finally:
        process.wait()


def pretender(folder: Path, code: str) -> str:
    """The path of a program that takes the engine's place."""
    path = folder / "pretender"
    path.write_text(f"#!{sys.executable} -u\n{textwrap.dedent(code)}")
    path.chmod(0o755)
    return str(path)


def alive(pid: int) -> bool:
    """Whether a process still runs. One that only waits to be reaped does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def children() -> list[int]:
    """The processes that this one has started and not reaped."""
    found: list[int] = []
    for task in os.listdir("/proc/self/task"):
        text = Path(f"/proc/self/task/{task}/children").read_text()
        found += map(int, text.split())
    return found
