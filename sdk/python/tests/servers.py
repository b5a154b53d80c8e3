"""`carboy serve` as a test starts it."""

from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import carboy
from carboy._binary import find_binary

KEY = "carboy_" + "0123456789abcdef" * 4
# More than any test asks for.
MORE = {
    "processes": 16,
    "displays": 100,
    "tool_calls": 100_000,
    "denials": 100_000,
    "artifacts": 10_000,
}

# Less than the preset has: the memory of a small machine is enough for it.
LESS = {"memory_bytes": 1 << 30, "file_bytes": 64 << 20, "session_memory_bytes": 1 << 30}


@dataclass
class Server:
    url: str
    key: str
    pid: int


@contextmanager
def serving(
    folder: Path,
    *options: str,
    listen: str = "127.0.0.1:0",
    runs_at_once: int = 64,
    settings: str = "",
) -> Iterator[Server]:
    """A server with one tenant, on the interpreter of these tests, until the end of the block."""
    config = folder / "serve.toml"
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    limits = {**carboy.Policy.preset("max").to_dict()["limits"], **MORE, **LESS}
    config.write_text(
        f"[tenants.test]\nruns_at_once = {runs_at_once}\n"
        f'keys = [{{ sha256 = "{digest}" }}]\n[tenants.test.ceiling.limits]\n'
        + "".join(f"{name} = {value}\n" for name, value in limits.items())
        + settings
    )
    command = [find_binary(), "serve", "--config", str(config), "--listen", listen]
    process = subprocess.Popen(
        [*command, "--python", sys.executable, *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("carboy serves on "), line
            yield Server(line.split()[-1], KEY, process.pid)
        finally:
            process.terminate()


class Cut:
    """A way to a server that breaks off when a request was passed on, so often."""

    def __init__(self, server: Server, times: int) -> None:
        self.host, self.port = server.url.removeprefix("http://").rsplit(":", 1)
        self.times = times
        self.requests: list[bytes] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self) -> None:
        while True:
            client, _ = self.listener.accept()
            with client, socket.create_connection((self.host, int(self.port))) as there:
                while (request := client.recv(1 << 16)) and request != b"end":
                    self.requests.append(request)
                    there.sendall(request)
                    if request.startswith(b"POST") and self.times > 0:
                        self.times -= 1
                        break
                    client.sendall(there.recv(1 << 20))
                if request == b"end":
                    return

    def close(self) -> None:
        with socket.create_connection(self.listener.getsockname()) as last:
            last.sendall(b"end")
            self.thread.join()
        self.listener.close()
