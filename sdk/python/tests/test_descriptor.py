"""`carboy pipe --descriptor`: the engine over one inherited socket, as other hosts use it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from carboy._binary import find_binary

COMMAND = [find_binary(), "pipe", "--python", sys.executable]


@contextmanager
def engine() -> Iterator[tuple[subprocess.Popen[bytes], socket.socket, IO[bytes]]]:
    ours, theirs = socket.socketpair()
    with ours, ours.makefile("rb") as lines:
        command = [*COMMAND, "--descriptor", str(theirs.fileno())]
        process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        )
        try:
            theirs.close()
            assert "ready" in json.loads(lines.readline())
            yield process, ours, lines
        finally:
            process.kill()
            process.communicate()


def asked(number: int, code: str) -> bytes:
    body: dict[str, Any] = {"run": {"id": number, "job": {"code": code}}}
    return json.dumps(body).encode() + b"\n"


def test_a_socket_carries_both_ways_and_standard_output_stays_free() -> None:
    with engine() as (process, ours, lines):
        ours.sendall(asked(1, "result = 1 + 1"))
        assert json.loads(lines.readline())["outcome"]["outcome"]["result"] == 2
        # No more requests, and what is under way is still answered.
        ours.sendall(asked(2, "import time\ntime.sleep(0.2)\nresult = 3"))
        ours.shutdown(socket.SHUT_WR)
        assert json.loads(lines.readline())["outcome"]["outcome"]["result"] == 3
        assert lines.readline() == b""
        assert process.wait(10) == 0
        assert process.stdout is not None and process.stdout.read() == b""


def test_it_ends_with_its_caller() -> None:
    with engine() as (process, ours, lines):
        ours.sendall(asked(1, "while True: pass"))
        lines.close()
        ours.close()
        assert process.wait(10) == 0


def test_what_is_no_such_socket_is_refused() -> None:
    for number in ("0", "1", "99"):
        done = subprocess.run([*COMMAND, "--descriptor", number], capture_output=True, text=True)
        assert done.returncode == 2, done
        assert "descriptor" in json.loads(done.stdout)["failed"]["failure"]["message"]
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours, theirs:
        number = str(theirs.fileno())
        done = subprocess.run(
            [*COMMAND, "--descriptor", number],
            pass_fds=[theirs.fileno()],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2 and "not a Unix stream socket" in done.stdout, done
