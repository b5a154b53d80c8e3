#!/usr/bin/python3
"""What a delegated control group is tested with: the battery, in groups, and ways to use too much there.

It runs in a machine whose first process has delegated a part of the tree (`init.py`). Each command gets
a group of its own, as `systemd-run --scope -p Delegate=yes` would give it one. The exit code says whether
all held.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

TREE = Path("/sys/fs/cgroup/delegated")
WRAPPER = Path("/tmp/carboy")
# The drill is attacked in one process: several would not be alone in the group.
SCRIPT = """#!/bin/sh
group={tree}/run-$$
mkdir "$group" && echo $$ > "$group/cgroup.procs"
[ -z "$MEMORY" ] || echo "$MEMORY" > "$group/memory.max"
[ "$1" != drill ] || set -- "$@" --jobs 1
exec {program} "$@"
"""
MIB = 1 << 20
# An emulated processor on a busy machine is slow, and only some runs are about time.
LONG = {"wall_ms": 300_000, "cpu_ms": 120_000}
GREEDY = "blocks = []\nwhile True: blocks.append(bytearray(1 << 20))"
# Each child keeps its own limit, and there is no moment at which one could be measured alone.
CHILDREN = """
import os
for _ in range(4):
    if os.fork() == 0:
        block = bytearray(60 << 20)
        while True: pass
while True: pass
"""
BUSY = "import os\nfor _ in range(3): os.fork()\nwhile True: pass"


def option(name: str) -> str:
    """What was given for an option."""
    return sys.argv[sys.argv.index(name) + 1]


def run(code: str, walls: str, **limits: int) -> dict[str, Any]:
    """The outcome of a run under a policy that demands a control group."""
    policy = Path("/tmp/policy.json")
    limits = LONG | limits
    policy.write_text(json.dumps({"walls": walls, "cgroup": True, "limits": limits}))
    command = [WRAPPER, "run", "--json", "--policy", policy, "--python", option("--python")]
    done = subprocess.run([*command, "-c", code], capture_output=True, text=True)
    return dict(json.loads(done.stdout or json.dumps({"error": done.stderr})))


def limit(outcome: dict[str, Any]) -> object:
    """The limit that a run ended on."""
    error = outcome.get("error") or {}
    return (error.get("limit") or {}).get("name") if isinstance(error, dict) else error


def pod(walls: str) -> dict[str, int]:
    """What became of greedy runs in a group of 512 MiB, and how often the kernel killed outside of jars."""
    pipe = subprocess.Popen(
        [WRAPPER, "pipe", "--python", option("--python")],
        env={**os.environ, "MEMORY": str(512 * MIB)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert pipe.stdin and pipe.stdout
    count = 12
    for number in range(count):
        size = (64, 200, 600)[number % 3]
        policy = {"walls": walls, "limits": {**LONG, "memory_bytes": size * MIB}}
        job = {"code": GREEDY, "policy": policy}
        pipe.stdin.write(json.dumps({"run": {"id": number, "job": job}}) + "\n")
    pipe.stdin.flush()
    found = {"limit": 0, "refused": 0, "other": 0}
    for line in pipe.stdout:
        message = json.loads(line)
        if "outcome" in message:
            name = limit(message["outcome"]["outcome"])
            found["limit" if name == "memory_bytes" else "other"] += 1
        elif "failed" in message:
            found["refused"] += 1
        if sum(found.values()) == count:
            break
    group = TREE / f"run-{pipe.pid}"
    for name in (".", "engine", "jars"):
        events = (group / name / "memory.events.local").read_text()
        found[f"kills in {name}"] = int(events.split("oom_kill ")[1].split()[0])
    pipe.stdin.close()
    pipe.wait()
    return found


def left() -> list[str]:
    """Groups of jars that are still there, after a moment."""
    for _ in range(100):
        jars = [str(path) for path in TREE.glob("run-*/jars/*/") if path.is_dir()]
        if not jars:
            break
        time.sleep(0.1)
    return jars


def main() -> int:
    """Tries everything."""
    WRAPPER.write_text(SCRIPT.format(tree=TREE, program=option("--program")))
    WRAPPER.chmod(0o755)
    faults = []

    def expect(what: str, found: object, wanted: object) -> None:
        print(f"{what}: {found}", flush=True)
        if found != wanted:
            faults.append(what)

    for walls in ("full", "nested"):
        outcome = run("result = 1", walls)
        print(outcome.get("error") or "", flush=True)
        layers = outcome.get("isolation", {}).get("layers", {})
        expect(f"{walls}: the kind of group", layers.get("cgroup"), "version 2")
        expect(f"{walls}: greedy", limit(run(GREEDY, walls)), "memory_bytes")
        wanted = {"limit": 8, "refused": 4, "other": 0}
        wanted |= {f"kills in {name}": 0 for name in (".", "engine", "jars")}
        expect(f"{walls}: a pod of 512 MiB", pod(walls), wanted)
    outcome = run(CHILDREN, "full", processes=4, memory_bytes=128 * MIB)
    expect("children together take memory", limit(outcome), "memory_bytes")
    outcome = run(BUSY, "full", processes=7, cpu_ms=2000)
    expect("children together take processors", limit(outcome), "cpu_ms")
    # Each of eight may use two seconds, and the kernel would end only the one that has.
    used = outcome.get("usage", {}).get("cpu_ms", 0)
    print(f"they used {used:.0f} ms")
    expect("they were ended together", 2000 <= used < 8000, True)
    expect("groups that are left", left(), [])
    battery = Path(__file__).with_name("battery.py")
    arguments = sys.argv[1:]
    arguments[arguments.index("--program") + 1] = str(WRAPPER)
    held = subprocess.run([sys.executable, battery, *arguments]).returncode == 0
    print("faults:", faults, flush=True)
    return 0 if held and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
