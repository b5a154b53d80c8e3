"""Runs programs with a plain interpreter, without carboy: what is marked ok must be ok there too.

As a script it is the child, which runs one program and leaves what came of it in a file.
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .judge import Came
    from .program import Program

# Programs take less than five on an idle machine.
SECONDS = 120


class Outside:
    """A plain interpreter."""

    def __init__(self, python: str) -> None:
        self._python = python

    def __enter__(self) -> Outside:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, program: Program) -> Came:
        """Runs one in a directory of its own, which is its home too."""
        from .judge import Came

        code = program.code
        if program.extract:
            import carboy

            code = carboy.extract(code)
        with tempfile.TemporaryDirectory(prefix="carboy-outside.") as folder:
            home, report = Path(folder, "home"), Path(folder, "report.json")
            home.mkdir()
            Path(folder, "main.py").write_text(code, encoding="utf-8")
            start = time.monotonic()
            try:
                done = subprocess.run(
                    [self._python, "-I", __file__, f"{folder}/main.py", str(report)],
                    cwd=home,
                    env={
                        "HOME": str(home),
                        "USER": "user",
                        "PATH": os.environ["PATH"],
                        "MPLBACKEND": "Agg",
                    },
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    errors="replace",
                    timeout=SECONDS,
                )
            except subprocess.TimeoutExpired:
                return Came("timeout", message=f"took more than {SECONDS} s outside")
            body = json.loads(report.read_text()) if report.exists() else {}
            left = [path for path in home.rglob("*") if path.is_file()]
            files = tuple(path.relative_to(home).as_posix() for path in left)
        if not body:
            body = {"kind": "crash", "message": done.stderr[-300:]}
        return Came(
            stdout=done.stdout,
            stderr=done.stderr,
            files=files,
            seconds=time.monotonic() - start,
            **body,
        )


def _child(program: str, report: str) -> None:
    sys.argv = [program]
    body: dict[str, object] = {"kind": None}
    names: dict[str, object] = {}
    parent = os.getpid()
    try:
        names = runpy.run_path(program, run_name="__main__")
    except SystemExit as error:
        if error.code not in (None, 0):
            body = {"kind": "exception", "type": "SystemExit", "message": str(error.code)}
        names = {}
    except BaseException as error:
        body = {"kind": "exception", "type": type(error).__name__, "message": str(error)[:300]}
    if os.getpid() != parent:
        return
    try:
        body["result"] = json.loads(json.dumps(names["result"], allow_nan=False))
    except (KeyError, TypeError, ValueError, RecursionError):
        body["has_result"] = False
    Path(report).write_text(json.dumps(body))


if __name__ == "__main__":
    _child(*sys.argv[1:])
