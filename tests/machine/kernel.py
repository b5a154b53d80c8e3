#!/usr/bin/python3
"""What a kernel is tested with, inside its machine: the battery of every host, and what older kernels'
Landlock lacks.

It writes the battery's row with `rows`, the rows of the drill for what Landlock does not cover in its older
versions, and the exit code says whether everything held.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PROGRAM = "/opt/carboy/carboy"
PYTHON = "/usr/bin/python3"
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


def json_of(*arguments: str) -> dict[str, Any]:
    """What the program prints as JSON."""
    done = subprocess.run([PROGRAM, *arguments, "--json"], capture_output=True, text=True)
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        print(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
        return {}


def readable_is_not_emptied(walls: str) -> bool:
    """Whether a file that jars may read and that belongs to the engine's user stays as it is: one that lies
    in the environment of their interpreter.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        os.chmod(folder, 0o755)
        venv = Path(folder)
        (venv / "bin").mkdir()
        (venv / "bin/python").symlink_to(PYTHON)
        (venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
        notes = venv / "notes.txt"
        notes.write_text("unchanged")
        notes.chmod(0o666)
        given = json.dumps({"path": str(notes)})
        python = str(venv / "bin/python")
        run = json_of("run", "--walls", walls, "--python", python, "-c", EMPTY, "--input", given)
        # It could be read, or nothing was tried.
        was_read = run.get("result") == "unchanged"
        if not was_read:
            print(f"{walls}: the file could not be read: {run.get('error')}")
        return was_read and notes.read_text() == "unchanged"


def main() -> int:
    """Runs everything."""
    out = Path(sys.argv[sys.argv.index("--out") + 1])
    battery = subprocess.run([PYTHON, HERE / "battery.py", *sys.argv[1:]])
    held = battery.returncode == 0
    row = json.loads(out.read_text())
    row["rows"] = {}
    for walls in ("full", "nested"):
        chosen = [word for name in ROWS for word in ("--row", name)]
        drill = json_of("drill", *chosen, "--walls", walls)
        counted = f"{drill.get('held')}/{drill.get('rows')}"
        row["rows"][walls] = counted
        print(f"{walls}: {counted} of {', '.join(ROWS)} held", *drill.get("failed", []))
        for result in drill.get("results", []):
            if not result["held"]:
                print(f"{walls}: {result['id']}: {'; '.join(result['faults'])}")
        held &= bool(drill) and drill["held"] == drill["rows"]
        if not readable_is_not_emptied(walls):
            print(f"{walls}: a file that could be read was emptied")
            held = False
    out.write_text(json.dumps(row, indent=2, ensure_ascii=False) + "\n")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
