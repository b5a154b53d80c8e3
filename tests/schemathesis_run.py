"""Starts servers and has schemathesis ask them for what docs/openapi.json promises.

schemathesis_run.py PROGRAM PYTHON some|all
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

PROGRAM, PYTHON, SIZE = sys.argv[1:]
ST = Path(sys.executable).with_name("st")
DOCUMENT = Path("docs/openapi.json").resolve()
CHECKS = Path("tests").resolve()
KEY = "of-schemathesis"
SETTINGS = f"""
listen = "127.0.0.1:0"

[tenants.api]
keys = [{{ sha256 = "{hashlib.sha256(KEY.encode()).hexdigest()}", scopes = ["run", "read", "metrics"] }}]

[tenants.api.ceiling.limits]
wall_ms = 1_000
memory_bytes = "64 MiB"
"""
# The document does not say which policies contradict themselves, so a request that fits it may be refused.
# A full server is allowed: a check of ours asks that it says when to come again.
NOT_CHECKED = "positive_data_acceptance,not_a_server_error"


@contextlib.contextmanager
def server(work: Path, *options: str) -> Iterator[str]:
    """A server that is ready; at its end it has nothing to tell of failures of its own."""
    settings = work / "serve.toml"
    settings.write_text(SETTINGS)
    command = [PROGRAM, "serve", "--config", str(settings), "--python", PYTHON, *options]
    with (work / "log").open("w+") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            url = next(
                word for line in process.stdout for word in line.split() if word.startswith("http")
            )
            until_ready(url, process)
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
        log.seek(0)
        failures = log.read()
    assert not failures, failures
    assert process.returncode == 0, process.returncode


def until_ready(url: str, process: subprocess.Popen[str]) -> None:
    """Waits until the server takes runs."""
    while True:
        assert process.poll() is None, "the server ended before it was ready"
        try:
            with urllib.request.urlopen(url + "/readyz"):
                return
        except urllib.error.HTTPError:
            time.sleep(0.05)


def ask(url: str, phases: str, most: int, *options: str) -> None:
    """Asks for everything: at most so many times of what is made by chance, if there is not time for more."""
    seed = ["--seed", "1"] if SIZE == "some" else []
    most = most if SIZE == "some" else 60
    command = [
        str(ST), "run", str(DOCUMENT), "--url", url, "--phases", phases, "--max-examples", str(most),
        *seed, "--exclude-checks", NOT_CHECKED, "--generation-database", "none",
        "--continue-on-failure", "--suppress-health-check", "all", "--request-timeout", "120",
        "--warnings", "off", "--no-color", *options,
    ]  # fmt: skip
    environment = {"SCHEMATHESIS_HOOKS": "schemathesis_checks", "PYTHONPATH": str(CHECKS)}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(command, check=True, cwd=folder, env=os.environ | environment)


def main() -> None:
    """With a key, without one, and of a server that keeps records."""
    key = ["--header", f"Authorization: Bearer {KEY}"]
    phases = "coverage,fuzzing" if SIZE == "some" else "coverage,fuzzing,stateful"
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        with server(work) as url:
            ask(url, phases, 5, *key)
            ask(url, "fuzzing", 2)
        with server(work, "--store", str(work / "store")) as url:
            ask(url, phases, 5, *key, "--include-path-regex", "^/v1/records")


main()
