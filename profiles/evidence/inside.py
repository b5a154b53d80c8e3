"""Runs the same uses of packages in jars, and says which do not work there, and in which words.

    cd profiles/evidence && python3 inside.py CARBOY VENV/bin/python [NAME...] > inside.txt

The packages of `packages.txt` are installed in the venv first, beside those of tests/programs-3.11.txt:

    uv pip install --python VENV/bin/python -r ../../tests/programs-3.11.txt -r packages.txt
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tomllib

HERE = Path(__file__).resolve().parent


def outcome(carboy: str, python: str, use: dict[str, Any]) -> dict[str, Any]:
    """What came of a use in a jar."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as policy:
        json.dump({"limits": use.get("limits")}, policy)
        policy.flush()
        under = ["--policy", policy.name] if "limits" in use else ["--preset", "max"]
        command = [carboy, "run", "--json", *under, "--python", python, "--code", use["code"]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def line(name: str, said: dict[str, Any]) -> str:
    """One package, and what came of it."""
    if said.get("status") == "ok":
        return f"{name:<26} works"
    error = said.get("error") or said
    words = " ".join(str(error.get("message", "")).split())
    return f"{name:<26} {error.get('type')}: {words[:160]} | hint: {error.get('hint')}"


def main() -> None:
    """Prints the table."""
    carboy, python, *only = sys.argv[1:]
    uses = tomllib.loads((HERE / "uses.toml").read_text())
    uses = {name: use for name, use in uses.items() if not only or name in only}
    with ThreadPoolExecutor(2) as threads:
        came = threads.map(lambda use: outcome(carboy, python, use), uses.values())
        lines = [line(name, said) for name, said in zip(uses, came, strict=True)]
    works = sum(one.endswith(" works") for one in lines)
    version = subprocess.run(
        [python, "-V"], capture_output=True, text=True, check=True
    ).stdout.strip()
    print(
        f"# Import and one ordinary use of each package in a jar, preset max unless it has limits: {version}."
    )
    print(f"# inside.py makes this table from uses.toml. {works} of {len(lines)} work.")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
