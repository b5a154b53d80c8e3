"""Traces import and ordinary use of packages, and says which system calls each makes.

    cd profiles/evidence && python3 trace.py VENV/bin/python > calls.txt

The table is kept beside the profile: what honest code calls is the reason why a call is allowed, and a
new release of a package is compared with it. It needs strace, and runs everything outside of jars.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import tomllib

HERE = Path(__file__).resolve().parent
MARK = "/carboy-evidence"


def calls_of(python: str, code: str) -> set[str]:
    """The names of the calls that the code makes after its interpreter has started."""
    with tempfile.TemporaryDirectory() as folder:
        program, trace = Path(folder, "use.py"), Path(folder, "trace")
        program.write_text(f"import os\nos.path.exists({MARK!r})\n{code}\n")
        command = ["strace", "-f", "-qq", "-o", trace, python, "-I", program]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300)
        if done.returncode:
            print(done.stderr[-2000:], file=sys.stderr)
        text = trace.read_text(errors="replace")
    return set(
        re.findall(
            r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed)", text[text.index(MARK) :], re.MULTILINE
        )
    )


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


def main() -> None:
    """Prints the table."""
    python = sys.argv[1]
    users: dict[str, list[str]] = defaultdict(list)
    uses = tomllib.loads((HERE / "uses.toml").read_text())
    for package, use in uses.items():
        for call in calls_of(python, use["code"]):
            users[call].append(package)
    said = verdicts()
    version = subprocess.run(
        [python, "-V"], capture_output=True, text=True, check=True
    ).stdout.strip()
    print(
        f"# Which packages make which system call: {version}, import and one ordinary use of each."
    )
    print("# trace.py makes this table from uses.toml. The second column is what the profile says.")
    for call, packages in sorted(users.items(), key=lambda each: (-len(each[1]), each[0])):
        who = "all" if len(packages) == len(uses) else "; ".join(packages)
        print(f"{call:<20} {said.get(call, 'no rule'):<20} {len(packages):>2}  {who}")


if __name__ == "__main__":
    main()
