"""Traces import and ordinary use of packages, and says which system calls each makes.

    cd profiles/evidence && python3 trace.py VENV/bin/python > calls.txt

The table is kept beside the profile: what honest code calls is the reason why a call is allowed, and a
new release of a package is compared with it. It needs strace, and runs everything outside of jars. The venv
is made as inside.py says.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
MARK = "/carboy-evidence"
# Some compile when they are used first, and tracing makes that slow.
SECONDS = 900


def calls_of(python: str, code: str) -> tuple[set[str], str | None]:
    """The names of the calls that the code makes after its interpreter has started, and why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        program, trace = Path(folder, "use.py"), Path(folder, "trace")
        program.write_text(f"import os\nos.path.exists({MARK!r})\n{code}\n")
        command = ["strace", "-f", "-qq", "-o", trace, python, "-I", "-B", program]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, cwd=folder, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            return set(), f"took more than {SECONDS} s"
        if done.returncode:
            return set(), (done.stderr.strip().splitlines() or ["it crashed"])[-1][:200]
        text = trace.read_text(errors="replace")
    found = re.findall(
        r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)", text[text.index(MARK) :], re.MULTILINE
    )
    return set(found), None


def verdicts() -> dict[str, str]:
    """What the profile says of each call, in a word."""
    profile = tomllib.loads((HERE.parent / "process.toml").read_text())
    said: dict[str, str] = dict.fromkeys(profile["allow"], "allowed")
    said.update({name: f"as {alike['to']}" for name, alike in profile["alike"].items()})
    said.update({name: f"answered {answer['errno']}" for name, answer in profile["answer"].items()})
    for group in profile["refuse"].values():
        said.update(dict.fromkeys(group["calls"], "refused"))
    for case in profile["case"]:
        said[case["call"]] = "by arguments"
    return said


def who(users: list[str], everybody: list[str]) -> str:
    """The packages that make a call, in the shorter of two ways."""
    others = [name for name in everybody if name not in users]
    if not others:
        return "all"
    return "; ".join(users) if len(users) <= len(others) else f"all but {'; '.join(others)}"


def main() -> None:
    """Prints the table."""
    python = sys.argv[1]
    uses = tomllib.loads((HERE / "uses.toml").read_text())
    with ThreadPoolExecutor(2) as threads:
        traced = list(threads.map(lambda use: calls_of(python, use["code"]), uses.values()))
    users: dict[str, list[str]] = defaultdict(list)
    worked: list[str] = []
    failed: dict[str, str] = {}
    for package, (calls, fault) in zip(uses, traced, strict=True):
        if fault is not None:
            failed[package] = fault
            continue
        worked.append(package)
        for call in calls:
            users[call].append(package)
    said = verdicts()
    version = subprocess.run(
        [python, "-V"], capture_output=True, text=True, check=True
    ).stdout.strip()
    print(
        f"# Which of {len(worked)} packages make which system call: {version}, import and one ordinary "
        "use of each."
    )
    print("# trace.py makes this table from uses.toml. The second column is what the profile says.")
    for call, packages in sorted(users.items(), key=lambda each: (-len(each[1]), each[0])):
        line = f"{call:<20} {said.get(call, 'no rule'):<20} {len(packages):>3}"
        print(f"{line}  {who(packages, worked)}")
    for package, fault in failed.items():
        print(f"# not traced: {package}: {fault}")


if __name__ == "__main__":
    main()
