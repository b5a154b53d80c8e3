#!/usr/bin/python3
"""What a kernel is tested with: the battery of every host, and what older versions of Landlock lack.

`kernel.py --program P --python P` runs the rows of the drill for what Landlock does not cover in its older
versions, and tries to empty a file that can be read. With `--out`, as inside a machine, it runs the battery
first, with all its options, and adds to the row that this writes.

The exit code says whether everything held.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

WALLS = ("full", "nested")
# Emptying, moving and linking, orders to devices, signals, abstract sockets.
ROWS = ("CON-16-b", "CON-20", "INT-18-a", "INT-30-b", "INT-37", "XRN-03-a")
# Files that can be read must not be emptied. Each way is tried; the file is looked at from outside.
EMPTY = """
import os
path = context["path"]
for flags in (os.O_RDONLY, os.O_RDWR | os.O_WRONLY, os.O_WRONLY, os.O_RDWR):
    try:
        os.close(os.open(path, flags | os.O_TRUNC))
    except OSError:
        pass
try:
    os.truncate(path, 0)
except OSError:
    pass
result = open(path).read()
"""


class Kernel:
    """A program and its interpreter on this kernel."""

    def __init__(self, program: str, python: str) -> None:
        self.program = program
        self.python = python

    def json(self, *arguments: str) -> dict[str, Any]:
        """What the program prints as JSON."""
        command = [self.program, *arguments, "--json"]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            return dict(json.loads(done.stdout))
        except ValueError:
            print(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
            return {}

    def rows(self, walls: str) -> tuple[int, int]:
        """How many rows of the drill held, of how many."""
        chosen = [word for name in ROWS for word in ("--row", name)]
        drill = self.json("drill", *chosen, "--walls", walls, "--python", self.python)
        for result in drill.get("results", []):
            if not result["held"]:
                print(f"{walls}: {result['id']}: {'; '.join(result['faults'])}")
        return drill.get("held", 0), drill.get("rows", len(ROWS))

    def keeps_what_can_be_read(self, walls: str) -> bool:
        """Whether a file that jars may read, and that their user may write, stays as it is: one that lies in
        the environment of their interpreter.
        """
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            venv = Path(folder)
            venv.chmod(0o755)
            (venv / "bin").mkdir()
            python = venv / "bin/python"
            python.symlink_to(os.path.realpath(self.python))
            home = os.path.dirname(os.path.realpath(self.python))
            (venv / "pyvenv.cfg").write_text(f"home = {home}\n")
            notes = venv / "notes.txt"
            notes.write_text("unchanged")
            notes.chmod(0o666)
            options = ["--walls", walls, "--python", str(python), "-c", EMPTY]
            run = self.json("run", *options, "--input", json.dumps({"path": str(notes)}))
            if notes.read_text() != "unchanged":
                print(f"{walls}: a file that can be read was emptied")
                return False
            # It could be read, or nothing was tried.
            if run.get("result") != "unchanged":
                print(f"{walls}: the file could not be read: {run.get('error')}")
                return False
            return True


def main() -> int:
    """Runs everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--python", required=True)
    parser.add_argument("--out", type=Path)
    given, _ = parser.parse_known_args()
    kernel = Kernel(given.program, given.python)
    all_held = True
    if given.out:
        battery = Path(__file__).with_name("battery.py")
        all_held = subprocess.run([sys.executable, battery, *sys.argv[1:]]).returncode == 0
    counted = {}
    for walls in WALLS:
        held, rows = kernel.rows(walls)
        counted[walls] = f"{held}/{rows}"
        print(f"{walls}: {held} of {rows} rows held: {' '.join(ROWS)}", flush=True)
        all_held &= kernel.keeps_what_can_be_read(walls) and held == rows
    if given.out:
        row = json.loads(given.out.read_text()) | {"rows": counted}
        given.out.write_text(json.dumps(row, indent=2, ensure_ascii=False) + "\n")
    return 0 if all_held else 1


if __name__ == "__main__":
    sys.exit(main())
