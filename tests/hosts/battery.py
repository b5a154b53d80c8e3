#!/usr/bin/env python3
"""What carboy does on the host that this runs on, as one row of docs/hosts.md.

Run it ON the host under test, as the user whose engine is meant, with nothing but a CPython and the
program. It asks `carboy doctor`, runs the first commands of README.md and the quick drill in each walls,
and writes a JSON file for `tests/hosts/results/`; `cargo xtask hosts` makes the table of them.

    battery.py --program carboy --python /usr/bin/python3 --host 'Debian 12' --group host --out row.json

What holds is said by the exit code: 0 if every walls that `--demand` names hold, 1 if not.
"""

import argparse
import datetime
import json
import os
import platform
import re
import subprocess
import sys
from typing import Any

WALLS = ("full", "nested")
GROUPS = ("host", "container", "kernel", "python", "arch", "cgroup", "layout")

# What README.md shows first: arguments, the exit codes that are right, and what the outcome must hold.
COMMANDS: tuple[tuple[tuple[str, ...], tuple[int, ...], dict[str, Any]], ...] = (
    (("-c", "sum(n * n for n in range(10))"), (0,), {"status": "ok", "result": 285}),
    (
        ("-c", 'sum(context["prices"])', "--input", '{"prices": [3, 4, 5]}'),
        (0,),
        {"status": "ok", "result": 12},
    ),
    (("-c", "import socket; socket.socket()"), (4,), {"denials": "socket"}),
    # In nested walls the file is there and Landlock refuses it.
    (("-c", 'open("/etc/shadow")'), (1, 4), {"result": None}),
    (("-c", "x = bytearray(10**9)"), (3,), {"limit": "memory_bytes"}),
)
PIPED = '{"run": {"id": 1, "job": {"code": "result = sum(prices)", "inputs": {"prices": [1, 2, 3]}%s}}}\n'


class Battery:
    """One program on one host."""

    def __init__(self, program: str, python: str, seconds: float) -> None:
        self.program = program
        self.python = python
        self.seconds = seconds

    def call(self, *arguments: str, text: str = "") -> "subprocess.CompletedProcess[str]":
        """The program with these arguments, bounded in time."""
        return subprocess.run(
            [self.program, *arguments],
            input=text,
            capture_output=True,
            text=True,
            timeout=self.seconds,
        )

    def json(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """The exit code and the JSON that a command prints; what is no JSON is an error in its words."""
        try:
            done = self.call(*arguments, "--json", "--python", self.python)
        except subprocess.TimeoutExpired:
            return -1, {"error": {"message": f"no answer in {self.seconds:.0f} s"}}
        try:
            return done.returncode, dict(json.loads(done.stdout))
        except ValueError:
            said = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}, no output"
            return done.returncode, {"error": {"message": said}}

    def doctor(self) -> dict[str, Any]:
        """What the doctor says."""
        return self.json("doctor")[1]

    def commands(self, walls: str) -> list[str]:
        """What was wrong with the first commands."""
        faults = []
        for arguments, codes, wanted in COMMANDS:
            code, outcome = self.json("run", "--walls", walls, *arguments)
            wrong = [] if code in codes else [f"exit code {code}"]
            for key, value in wanted.items():
                if seen(outcome, key, value) != value:
                    wrong.append(f"{key} is {seen(outcome, key, value)!r}")
            if wrong:
                faults.append(f"{arguments[1]}: {', '.join(wrong)}: {reason(outcome)}")
        policy = "" if walls == "full" else ', "policy": {"walls": "nested"}'
        try:
            piped = self.call("pipe", "--python", self.python, text=PIPED % policy)
        except subprocess.TimeoutExpired:
            return [*faults, "pipe: no answer"]
        if '"result":6' not in piped.stdout:
            faults.append(f"pipe: {piped.stdout.strip()[-300:]} {piped.stderr.strip()[-300:]}")
        return faults

    def walls(self, walls: str, report: dict[str, Any]) -> dict[str, Any]:
        """What holds in these walls, or why they do not stand."""
        if not report.get(walls):
            rows = [row for row in report.get("rows", []) if row["layer"] == f"{walls} walls"]
            return {"no": rows[0]["offers"] if rows else reason(report)}
        _, outcome = self.json("run", "--walls", walls, "-c", "1")
        layers = outcome.get("isolation", {}).get("layers")
        if layers is None:
            return {"no": reason(outcome)}
        faults = self.commands(walls)
        _, drill = self.json("drill", "--quick", "--walls", walls)
        if "rows" not in drill:
            return {"no": f"the drill did not run: {reason(drill)}"}
        found: dict[str, Any] = {
            "enforced": layers,
            "drill": f"{drill['held']}/{drill['rows']}",
            "commands": not faults,
        }
        if drill["failed"]:
            found["not_held"] = drill["failed"]
            for row in drill["results"]:
                if not row["held"]:
                    print(f"{walls}: {row['id']}: {'; '.join(row['faults'])}", file=sys.stderr)
        for fault in faults:
            print(f"{walls}: {fault}", file=sys.stderr)
        return found


def seen(outcome: dict[str, Any], key: str, wanted: object) -> object:
    """What an outcome has under a key of the table of commands."""
    if key == "denials":
        named = [denial.get("what") for denial in outcome.get("denials", [])]
        return wanted if wanted in named else named
    if key == "limit":
        return ((outcome.get("error") or {}).get("limit") or {}).get("name")
    return outcome.get(key)


def reason(said: dict[str, Any]) -> str:
    """The words of an outcome or of a failure, in one line."""
    error = said.get("error")
    if isinstance(error, dict):
        words = [str(error[key]) for key in ("message", "cause") if error.get(key)]
        return " ".join(" ".join(words).split()) or json.dumps(error)
    return str(error) if error else json.dumps(said)[:300]


def engine_user() -> str:
    """Who runs the engine, in words."""
    if os.geteuid() != 0:
        return "ordinary user"
    with open("/proc/self/status") as status:
        held = next((line.split()[1] for line in status if line.startswith("CapEff:")), "0")
    return "root" if int(held, 16) else "root without capabilities"


def kernel() -> str:
    """The version of the kernel; Debian's release name does not have its last number."""
    found = re.search(r"Debian (\d+\.\d+\.\d+)", platform.version())
    return found.group(1) if found else platform.release().split("-")[0]


def main() -> int:
    """Runs the battery and writes the row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--program", required=True, help="the carboy to try")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the jars")
    parser.add_argument("--host", required=True, help="what this host is, in a few words")
    parser.add_argument("--group", required=True, choices=GROUPS)
    parser.add_argument("--user", help="who runs the engine, if it is not to be found out")
    parser.add_argument("--kernel", help="its version, if it is not to be found out")
    parser.add_argument("--date", help="the day, where the clock is not to be trusted")
    parser.add_argument("--out", help="where the row goes; standard output if not given")
    parser.add_argument(
        "--walls", action="append", choices=WALLS, help="only these walls are tried"
    )
    parser.add_argument("--demand", action="append", default=[], choices=WALLS)
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds for each command")
    given = parser.parse_args()

    battery = Battery(given.program, given.python, given.timeout)
    report = battery.doctor()
    walls = {name: battery.walls(name, report) for name in given.walls or WALLS}
    asked = subprocess.run(
        [
            given.python,
            "-c",
            "import platform as p; print(p.python_implementation(), p.python_version())",
        ],
        capture_output=True,
        text=True,
    )
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    row = {
        "host": given.host,
        "group": given.group,
        "kernel": given.kernel or kernel(),
        "architecture": platform.machine(),
        "python": asked.stdout.strip(),
        "engine_user": given.user or engine_user(),
        "walls": walls,
        "date": given.date or today,
    }
    text = json.dumps(row, indent=2, ensure_ascii=False) + "\n"
    if given.out:
        with open(given.out, "w") as out:
            out.write(text)
    else:
        sys.stdout.write(text)
    missing = [name for name in given.demand if not holds(walls.get(name, {}))]
    for name in missing:
        print(
            f"{given.host}: {name} walls do not hold: {json.dumps(walls.get(name))}",
            file=sys.stderr,
        )
    return 1 if missing else 0


def holds(walls: dict[str, Any]) -> bool:
    """Whether the commands did what they should and every row of the drill held."""
    held, _, rows = str(walls.get("drill", "0/1")).partition("/")
    return bool(walls.get("commands")) and held == rows


if __name__ == "__main__":
    sys.exit(main())
