"""Runs a machine to its end, or to a deadline, and reads what it said."""

import base64
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from .architecture import Architecture

# Nothing that a test is about: checks and mitigations that cost an emulated processor much.
KERNEL = "quiet panic=-1 no_timer_check mitigations=off nokaslr random.trust_cpu=on audit=0"

# Seconds after which a machine without a first process hangs; most have theirs after 5 to 20.
BOOT = 120


class Said(NamedTuple):
    """What came of a machine."""

    booted: float | None
    """Seconds of the machine's clock until its test began."""
    code: int | None
    """The exit code of the test; none if it did not end."""
    seconds: float
    """How long the test took."""
    out: bytes
    """What the test wrote to its file."""
    failure: str | None
    """Why there is no exit code."""
    console: str
    """The last lines of its console but for what the test wrote to its file."""


def start(
    architecture: Architecture, kernel: Path, initrd: Path, test: list[str], log: Path, user: int
) -> "subprocess.Popen[bytes]":
    """Starts a machine with two processors that runs the command `test` as `user`."""
    word = base64.b64encode("\0".join(test).encode()).decode()
    command = [
        *architecture.qemu,
        *("-accel", "tcg,thread=multi", "-smp", "2", "-m", "1536", "-nodefaults", "-no-reboot"),
        *("-display", "none", "-serial", "stdio", "-kernel", str(kernel), "-initrd", str(initrd)),
        *("-append", f"console={architecture.console} {KERNEL} user={user} test={word}"),
    ]
    with log.open("wb") as out:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)


def finish(machine: "subprocess.Popen[bytes]", log: Path, seconds: float) -> Said:
    """Waits for a machine, ends it at the deadline or when it does not boot, and reads its console."""
    late = None
    try:
        try:
            machine.wait(timeout=max(min(seconds, BOOT), 0))
        except subprocess.TimeoutExpired:
            if b"@@ booted" in log.read_bytes():
                machine.wait(timeout=max(seconds - BOOT, 0))
            else:
                late = "it did not boot"
    except subprocess.TimeoutExpired:
        late = f"it did not end in {seconds:.0f} s"
    finally:
        if machine.poll() is None:
            machine.kill()
            machine.wait()
    text = log.read_text(errors="replace").replace("\r", "")
    booted = re.search(r"@@ booted ([\d.]+)", text)
    ended = re.search(r"@@ ended (-?\d+) ([\d.]+)", text)
    failed = re.search(r"@@ failed (.*)", text)
    out = base64.b64decode("".join(re.findall(r"@@ out (\S+)", text)))
    failure = None
    lines = [line for line in text.strip().splitlines() if not line.startswith("@@ out")]
    if not ended:
        said = failed[1] if failed else (lines[-1] if lines else "nothing on its console")
        failure = f"{late or 'it ended early'}: {said}"
    return Said(
        booted=float(booted[1]) if booted else None,
        code=int(ended[1]) if ended else None,
        seconds=float(ended[2]) if ended else 0.0,
        out=out,
        failure=failure,
        console="\n".join(f"    {line}" for line in lines[-40:]),
    )
