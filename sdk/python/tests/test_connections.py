"""Connections to a server: over TLS with an authority of one's own, and to one that falls silent."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import carboy
from carboy import _http, _remote
from carboy._address import Address
from carboy._client import Client
from carboy._connection import Connection
from carboy._request import asking
from carboy._run import Run
from carboy._trip import There, Trip
from servers import KEY, serving

# So that a small machine holds the session.
SMALL = carboy.Policy(limits=carboy.Limits(session_memory_bytes="128MiB", heads=6))


def certificate(folder: Path) -> None:
    """An authority of one's own in ca.pem, and a certificate of it for `localhost`."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not here, which makes certificates")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    # CPython 3.13 and later look closely: an authority says what it is for, and what it signed says by whom.
    names = (
        "subjectAltName=DNS:localhost\nsubjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid\n"
    )
    (folder / "names").write_text(names)
    signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names")
    for words in (
        (
            "req",
            "-x509",
            *new,
            "-days",
            "2",
            "-subj",
            "/CN=us",
            "-addext",
            "keyUsage=critical,keyCertSign",
            "-keyout",
            "ca.key",
            "-out",
            "ca.pem",
        ),
        ("req", *new, "-subj", "/CN=localhost", "-keyout", "key.pem", "-out", "asked.pem"),
        ("x509", "-req", "-in", "asked.pem", "-days", "2", *signed, "-out", "own.pem"),
    ):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)


def test_the_same_over_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate(tmp_path)
    settings = f'[tls]\ncertificate = "{tmp_path}/own.pem"\nkey = "{tmp_path}/key.pem"\n'
    with serving(tmp_path, settings=settings) as server:
        assert server.url.startswith("https://127.0.0.1:"), server
        url = server.url.replace("127.0.0.1", "localhost")
        monkeypatch.delenv("SSL_CERT_FILE", raising=False)
        with pytest.raises(carboy.EngineError, match="could not reach") as refused:
            carboy.Sandbox(url=url, key=server.key).run("1")
        assert "certificate" in str(refused.value.causes)
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with pytest.raises(carboy.EngineError, match="could not reach"):
            carboy.Sandbox(url=server.url, key=server.key).run("1")
        long = {"long": os.urandom(3 << 20)}
        code = "print('on', flush=True)\nresult = len(open('long', 'rb').read())"
        with carboy.Sandbox(url=url, key=server.key) as box:
            assert box.run(code, files=long).result == 3 << 20
            with box.stream(code, files=long) as stream:
                assert "".join(chunk.text for chunk in stream) == "on\n"
            with box.session(policy=SMALL) as session:
                assert session.run("x = 6\nx * 7").result == 42

        async def main() -> None:
            async with carboy.AsyncSandbox(url=url, key=server.key) as box:
                long["long"] = os.urandom(2 << 20)
                outs = await asyncio.gather(*(box.run(code, files=long) for _ in range(4)))
                assert [out.result for out in outs] == [2 << 20] * 4

        asyncio.run(main())


def test_a_stream_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_http, "MOST_SILENCE", 0.3)
    head = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        f"Carboy-Run: {'0' * 32}\r\n\r\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                held.append(connection)
                connection.recv(1 << 16)
                connection.sendall(head.encode())

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        box = carboy.Sandbox(url=url, key=KEY)
        with pytest.raises(carboy.EngineGoneError) as gone:
            list(box.stream("1"))
        assert "said nothing" in str(gone.value.causes)

        async def main() -> None:
            box = carboy.AsyncSandbox(url=url, key=KEY)
            with pytest.raises(carboy.EngineGoneError) as gone:
                async for _ in box.stream("1"):
                    pass
            assert "said nothing" in str(gone.value.causes)

        asyncio.run(main())
        thread.join()
        for connection in held:
            connection.close()


def trip_of(there: There, ask: bytes) -> Trip:
    """What is asked of the first session."""
    run = Run(asking(1, ask))
    run.id = 7
    return Trip(there, run)


def there_with_a_session() -> There:
    there = There(Address("http://127.0.0.1:1", KEY), "inline")
    there.sessions[1] = "abc"
    return there


def test_what_changes_a_session_is_not_sent_again() -> None:
    there = there_with_a_session()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = Connection(ours, None)
        connection.rest()
        gone = ConnectionResetError("gone")
        read = trip_of(there, b'{"variables":{}}')
        assert _remote.may_retry(connection, read, gone)
        assert not _remote.may_retry(connection, read, TimeoutError("late"))
        branch = trip_of(there, b'{"branch":{"session":2}}')
        assert not _remote.may_retry(connection, branch, gone)
        # Unless the server says that it began nothing.
        branch.is_refused = True
        assert _remote.may_retry(connection, branch, gone)


@pytest.mark.parametrize(
    ("status", "is_gone"), [(204, True), (404, True), (410, True), (503, False)]
)
def test_a_session_is_forgotten_when_it_is_closed(status: int, is_gone: bool) -> None:
    there = there_with_a_session()
    trip = trip_of(there, b'{"close":{}}')
    steps = trip.steps()
    assert isinstance(next(steps), bytes)
    assert steps.send(None) is None and 1 in there.sessions
    with pytest.raises(StopIteration):
        steps.send(b"HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n" % status)
    assert (1 not in there.sessions) == is_gone
    assert isinstance(trip.end, bytes) == is_gone


def test_an_answer_to_a_call_that_was_answered_is_no_fault() -> None:
    problem = b'{"status":409,"code":"%b","detail":"x"}'
    assert _remote.answer_fault(409, problem % b"call") is None
    assert _remote.answer_fault(409, problem % b"other") is not None
    assert _remote.has_interrupted(202, b"[" * 100_000)


def test_a_short_answer_that_does_not_end_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                try:
                    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                    while True:
                        connection.sendall(bytes(1 << 16))
                except OSError:
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        client = Client(Address(f"http://127.0.0.1:{listener.getsockname()[1]}", KEY))
        with pytest.raises(carboy.EngineError) as error:
            client.ask("GET", "/readyz")
        assert "too long" in str(error.value.causes)
        thread.join()


SILENT = """
import asyncio, sys
from carboy import AsyncSandbox, _remote
_remote.CLOSE_SECONDS = 0.2

async def main():
    box = AsyncSandbox(url=sys.argv[1], key=sys.argv[2])
    box._engine(None).there.sessions[1] = "abc"
    await box.close()

asyncio.run(main())
print("over")
"""


def test_a_silent_server_does_not_keep_a_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        ended = subprocess.run(
            [sys.executable, "-c", SILENT, url, KEY],
            capture_output=True,
            text=True,
            timeout=50,
            check=True,
        )
        assert ended.stdout == "over\n" and not ended.stderr
