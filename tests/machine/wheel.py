#!/usr/bin/python3
"""Installs the wheel of the Python package in a machine, as its users do, and runs what README shows first.

pip decides whether the wheel is for this platform. It is installed into a fresh environment; then README's
example in Python must print what README says, and the program that the wheel brought must run. The exit code
says whether all did.
"""

import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
VENV = Path("venv").resolve()
STARTED = time.monotonic()


def call(*command: object) -> str:
    """What a command prints; that it fails ends this."""
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True)
    print(
        f"{time.monotonic() - STARTED:.0f} s: {' '.join(words[-3:])}: {done.returncode}", flush=True
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}{done.stderr}")
    return done.stdout


def main() -> int:
    """Installs and runs."""
    wheel = next(HERE.glob("carboy-*.whl"))
    pip = next(HERE.glob("pip-*.whl"))
    call(sys.executable, "-m", "venv", "--without-pip", VENV)
    python = VENV / "bin/python"
    install = ("install", "--no-index", "--no-deps", "--no-compile", wheel)
    call(python, pip / "pip", *install)
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## From Python\n")[2].partition("\n## ")[0]
    found = re.search(r"```python\n(.*?)```\n+```text\n(.*?)```", section, re.DOTALL)
    if found is None:
        sys.exit("README.md has no example in Python")
    Path("example.py").write_text(found[1], encoding="utf-8")
    faults = []
    if (said := call(python, "example.py")) != found[2]:
        faults.append(f"README's example printed {said!r}")
    for walls in ("full", "nested"):
        code = "sum(n * n for n in range(10))"
        said = call(VENV / "bin/carboy", "run", "--walls", walls, "-c", code)
        if said != "285\n":
            faults.append(f"carboy run in {walls} walls printed {said!r}")
    print("\n".join(faults) or "the wheel works")
    return len(faults)


if __name__ == "__main__":
    sys.exit(main())
