"""What is special about boxes on a server. What is not, the tests of other modules show there too."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import carboy
from carboy import _client
from carboy._files import Upload
from carboy._http import Answer, Broken, Events
from carboy._problems import problem_of
from servers import KEY, Cut, Server, serving
from test_threads import in_threads

# So that a small machine holds several sessions.
SMALL = carboy.Policy(limits=carboy.Limits(session_memory_bytes="128MiB", heads=6))
SLEEP = "import time; time.sleep(20)"


def until(happens: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not happens():
        assert time.monotonic() < end
        time.sleep(0.005)


def under_way(server: Server) -> list[Any]:
    client = _client.Client(carboy._address.Address(server.url, server.key))
    try:
        return list(client.json("GET", "/v1/runs")["under_way"])
    finally:
        client.close()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"key": KEY}, "without url"),
        ({"url": "http://localhost"}, "key is missing"),
        ({"url": "http://localhost", "key": "a\r\nb"}, "needs a key"),
        ({"url": 3, "key": KEY}, "must be str"),
        *(
            ({"url": url, "key": KEY}, "cannot be used")
            for url in (
                "localhost:8722",
                "ftp://a",
                "http://",
                "http://a/?b",
                "http://a:x",
                "unix:",
            )
        ),
        ({"url": "http://a b", "key": KEY}, "cannot be used"),
        ({"url": "http://a/b\r\nX: c", "key": KEY}, "cannot be used"),
        ({"url": "http://a", "key": KEY, "python": "python3"}, "python cannot be chosen"),
        ({"url": "http://a", "key": KEY, "preload": ["json"]}, "preload cannot be chosen"),
        ({"url": "http://a", "key": KEY, "store": "x"}, "store cannot be chosen"),
    ],
)
@pytest.mark.parametrize("kind", [carboy.Sandbox, carboy.AsyncSandbox])
def test_what_cannot_be_used_is_refused_at_once(
    kind: type[Any], options: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CARBOY_KEY", raising=False)
    with pytest.raises(carboy.RequestError, match=words) as raised:
        kind(**options)
    assert raised.value.hint and KEY not in str(raised.value)


def test_what_a_server_cannot_be_given_is_refused(server: Server, tmp_path: Path) -> None:
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        with pytest.raises(carboy.RequestError, match="mounted"):
            box.run("1", mounts={"/data": tmp_path})
        with pytest.raises(carboy.RequestError, match="cannot be read: No such file"):
            box.run("1", files={"x": tmp_path / "missing"})
        with pytest.raises(carboy.RequestError, match="nothing here") as refused:
            box.runs.find()
        assert "--store" in str(refused.value.hint)
        assert box.run("1").ok


def test_the_key_may_be_in_the_environment_and_must_be_known(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARBOY_KEY", server.key)
    assert carboy.Sandbox(url=f"{server.url}/").run("6 * 7").result == 42
    monkeypatch.setenv("CARBOY_KEY", "carboy_other")
    box = carboy.Sandbox(url=server.url)
    for ask in (box.start, lambda: box.run("1")):
        with pytest.raises(carboy.RequestError, match="key is not known"):
            ask()

    async def main() -> None:
        async with carboy.AsyncSandbox(url=server.url):
            pass

    with pytest.raises(carboy.RequestError, match="key is not known"):
        asyncio.run(main())


def test_files_are_sent(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("here")
    (tmp_path / "b.csv").write_text("x\n1\n")
    files: dict[str, Any] = {"a.txt": tmp_path / "a.txt", "b": memoryview(b"\0\xff")}
    code = (
        "result = [open('a.txt').read(), list(open('b', 'rb').read()), open('frames/t.csv').read()]"
    )
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        out = box.run(code, files=files, frames={"t": tmp_path / "b.csv"})
    assert out.result == ["here", [0, 255], "x\n1\n"], out


def test_long_files_are_uploaded_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer than what a request may have.
    size = 70 << 20
    long = tmp_path / "long.bin"
    with long.open("wb") as file:
        file.write(b"begin")
        file.truncate(size)
    other = b"x" * (2 << 20)
    code = "import os\nresult = [os.path.getsize('a'), os.path.getsize('b')]"
    wanted = [size, len(other)]
    read: list[str] = []
    parts = Upload.parts

    def counted(upload: Upload) -> Iterator[bytes]:
        read.append(upload.name)
        return parts(upload)

    monkeypatch.setattr(Upload, "parts", counted)
    files: dict[str, Any] = {"a": long, "b": other}
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        for _ in range(2):
            out = box.run(code, files=files)
            assert out.ok and out.result == wanted, out
        with box.session(files=files, policy=SMALL) as session:
            assert session.run("os = __import__('os')\nos.path.getsize('a')").result == size
    assert sorted(read) == ["a", "b"]

    async def main() -> None:
        async with carboy.AsyncSandbox(url=server.url, key=server.key) as box:
            files["c"] = b"y" * (2 << 20)
            assert (await box.run("import os\nos.path.getsize('c')", files=files)).result == 2 << 20

    asyncio.run(main())
    assert sorted(read) == ["a", "b", "c"]


def test_a_file_that_changes_while_it_is_sent_is_refused(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / "long.bin"
    parts = Upload.parts

    def changing(upload: Upload) -> Iterator[bytes]:
        long.write_bytes(after.pop())
        return parts(upload)

    monkeypatch.setattr(Upload, "parts", changing)
    after = [b"c", b"b" * (2 << 20)]
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        for words in ("became another", "became shorter"):
            long.write_bytes(os.urandom(2 << 20))
            with pytest.raises(carboy.RequestError, match=words):
                box.run("1", files={"a": long})
        assert box.run("1").ok


def test_sessions_end_with_their_box(server: Server) -> None:
    def open_there() -> list[Any]:
        client = _client.Client(carboy._address.Address(server.url, server.key))
        try:
            return list(client.json("GET", "/v1/sessions")["sessions"])
        finally:
            client.close()

    until(lambda: not open_there())
    with carboy.Sandbox(SMALL, url=server.url, key=server.key) as box:
        session = box.session()
        assert session.run("x = 1\nx").result == 1
        assert [session.id] == [there["id"] for there in open_there()]
        with box.session() as other:
            assert other.run("2").result == 2 and len(open_there()) == 2
            kept = other.id
        assert len(open_there()) == 1 and kept is not None and other.id is None
        client = _client.Client(carboy._address.Address(server.url, server.key))
        with contextlib.closing(client), pytest.raises(carboy.RequestError) as over:
            client.json("GET", f"/v1/sessions/{kept}")
        assert over.value.code == "session_ended"
    assert not open_there()

    async def main() -> None:
        async with carboy.AsyncSandbox(SMALL, url=server.url, key=server.key) as box:
            session = await box.session()
            assert (await session.run("1")).result == 1

    asyncio.run(main())
    until(lambda: not open_there())


def test_connections_are_kept(server: Server) -> None:
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        sockets = set()
        for _ in range(5):
            assert box.run("1").ok
            (idle,) = box._pipe.client._idle  # type: ignore[union-attr]
            sockets.add(idle)
        assert len(sockets) == 1

    async def main() -> int:
        async with carboy.AsyncSandbox(url=server.url, key=server.key) as box:
            for _ in range(5):
                assert (await box.run("1")).ok
            return len(box._pipe._used)  # type: ignore[union-attr]

    assert asyncio.run(main()) == 1


def test_whoever_goes_away_leaves_no_run(server: Server) -> None:
    until(lambda: not under_way(server))
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        with box.stream(f"print(1, flush=True)\n{SLEEP}") as stream:
            assert next(stream).text == "1\n" and len(under_way(server)) == 1
        until(lambda: not under_way(server))

    async def main() -> None:
        async with carboy.AsyncSandbox(url=server.url, key=server.key) as box:
            async with box.stream(f"print(1, flush=True)\n{SLEEP}") as stream:
                await stream.__anext__()
            task = asyncio.create_task(box.run(SLEEP))
            while not await asyncio.to_thread(under_way, server):
                await asyncio.sleep(0.005)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    until(lambda: not under_way(server))


def test_a_box_that_is_closed_leaves_no_run(server: Server) -> None:
    until(lambda: not under_way(server))
    box = carboy.Sandbox(SMALL, url=server.url, key=server.key)
    session = box.session()
    runs = [threading.Thread(target=ended, args=(each,)) for each in (box.run, session.run)]
    for run in runs:
        run.start()
    until(lambda: len(under_way(server)) == 2)
    box.close()
    for run in runs:
        run.join()
    until(lambda: not under_way(server))


def ended(run: Callable[[str], object]) -> None:
    with pytest.raises(carboy.CarboyError):
        run(SLEEP)


def test_a_run_whose_connection_breaks_is_asked_for_again(server: Server) -> None:
    code = "import time, os\ntime.sleep(0.2)\nresult = os.urandom(8).hex()"
    # The first connection may have been closed because it was idle, which does not count.
    for times in (1, 3):
        with contextlib.closing(Cut(server, times)) as way:
            with carboy.Sandbox(url=way.url, key=server.key) as box:
                if times == 1:
                    assert len(box.run(code).result) == 16
                else:
                    with pytest.raises(carboy.EngineGoneError):
                        box.run(code)
            posts = [text for text in way.requests if text.startswith(b"POST")]
            assert 2 <= len(posts) <= 3 and posts == posts[:1] * len(posts)
            assert b"Idempotency-Key: " in posts[0]
    until(lambda: not under_way(server))

    async def main(way: Cut) -> None:
        async with carboy.AsyncSandbox(url=way.url, key=server.key) as box:
            assert (await box.run("result = 1")).result == 1

    with contextlib.closing(Cut(server, 1)) as way:
        asyncio.run(main(way))
        assert len([text for text in way.requests if text.startswith(b"POST")]) == 2


def test_a_run_of_a_session_is_sent_once(server: Server) -> None:
    with contextlib.closing(Cut(server, 0)) as way:
        with carboy.Sandbox(SMALL, url=way.url, key=server.key) as box:
            session = box.session()
            assert session.run("n = 1").ok
            way.times = 1
            with pytest.raises(carboy.EngineGoneError):
                session.run("n += 1")
            until(lambda: not under_way(server))
            assert session.run("n").result in (1, 2)
        posts = [text for text in way.requests if text.startswith(b"POST") and b"/runs" in text]
        assert len(posts) == 3 and not any(b"Idempotency-Key" in text for text in posts)


def test_a_forked_child_has_connections_of_its_own(server: Server) -> None:
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        assert box.run("1").ok
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                code = 0 if box.run("2").result == 2 else 2
            os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert box.run("3").result == 3


def test_a_server_that_is_gone_or_comes_again(tmp_path: Path) -> None:
    place = f"unix:{tmp_path}/s"
    with serving(tmp_path, listen=place):
        box = carboy.Sandbox(url=place, key=KEY).start()
        assert box.run("1").result == 1
    with pytest.raises(carboy.EngineError, match="could not reach the server") as refused:
        box.run("1")
    assert "carboy serve" in str(refused.value.hint)
    with serving(tmp_path, listen=place) as server:
        assert box.run("2").result == 2
        ends: list[object] = []

        def kill() -> None:
            until(lambda: len(under_way(server)) == 4)
            os.kill(server.pid, signal.SIGKILL)

        def work(number: int) -> object:
            return kill() if number == 4 else box.run(SLEEP)

        ends = in_threads(5, work)
        assert [type(end) for end in ends] == [carboy.EngineGoneError] * 4 + [type(None)]
        assert len({id(end) for end in ends}) == 5
    (tmp_path / "s").unlink(missing_ok=True)
    with serving(tmp_path, listen=place):
        # The box has connections that nobody is at the other end of.
        assert box.run("3").result == 3
        box.close()
    with pytest.raises(carboy.RequestError, match="closed"):
        box.run("4")


def test_runs_wait_for_each_other_and_not_for_those_of_others(tmp_path: Path) -> None:
    with serving(tmp_path, runs_at_once=2) as server:
        with carboy.Sandbox(url=server.url, key=KEY) as box:
            found = in_threads(12, lambda n: box.run(f"result = {n}").result)
            assert found == list(range(12))

            async def main() -> list[object]:
                async with carboy.AsyncSandbox(url=server.url, key=KEY) as box:
                    outs = await asyncio.gather(*[box.run(f"{n}") for n in range(12)])
                    return [out.result for out in outs]

            assert asyncio.run(main()) == list(range(12))
            with carboy.Sandbox(url=server.url, key=KEY) as other:
                streams = [other.stream(f"print(1, flush=True)\n{SLEEP}") for _ in range(2)]
                for stream in streams:
                    next(stream)
                # Not sent before it is known that it will be taken.
                with pytest.raises(carboy.BusyError, match="under way"):
                    box.run("1", {"x": "x" * 3_000_000})
            until(lambda: not under_way(server))
            assert box.run("len(x)", {"x": "x" * 3_000_000}).result == 3_000_000


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("head", "body", "found"),
    [
        (b"Content-Length: 5\r\n", b"hello", b"hello"),
        (
            b"Transfer-Encoding: chunked\r\n",
            b"3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nA: b\r\n\r\n",
            b"hello",
        ),
        (b"Content-Length: 0\r\n", b"", b""),
    ],
)
def test_an_answer_is_the_same_in_every_cut(
    size: int, head: bytes, body: bytes, found: bytes
) -> None:
    text = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n" + head + b"\r\n" + body
    answer, parts = Answer(), []
    for start in range(0, len(text), size):
        assert not answer.over
        parts.append(answer.feed(text[start : start + size]))
    assert (answer.status, answer.goes_on, b"".join(parts)) == (200, True, found)
    assert answer.over and answer.keeps
    answer.feed(b"x")
    assert not answer.keeps


@pytest.mark.parametrize(
    "text",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000,
        b"x" * 100_000,
    ],
)
def test_what_is_not_http_is_told(text: bytes) -> None:
    answer = Answer()
    with pytest.raises(Broken):
        answer.feed(text)
        answer.end()


def test_events_are_the_same_in_every_cut() -> None:
    text = b'event: run\ndata: {"id": 1}\n\n: still\n\nevent: output\r\ndata: a\r\n\r\n'
    for size in (1, 3, 1000):
        events = Events()
        found = [
            each
            for start in range(0, len(text), size)
            for each in events.feed(text[start : start + size])
        ]
        assert found == [("run", b'{"id": 1}'), ("output", b"a")]


def test_problems_are_the_exceptions_of_a_box() -> None:
    def kind(status: int, code: str) -> type[carboy.CarboyError]:
        text = json.dumps({"code": code, "detail": "words", "hint": "more", "status": status})
        error = problem_of(status, text.encode())
        assert str(error) == "words\nhint: more" and getattr(error, "code", None) == code
        return type(error)

    assert kind(400, "request") is kind(403, "scope") is carboy.RequestError
    assert kind(429, "quota") is kind(503, "busy") is carboy.BusyError
    assert kind(409, "cancelled") is carboy.NotStartedError
    assert kind(500, "engine") is carboy.EngineError
    for text in (b"<html>\x1b[2J", b"[]", b"", b"{}"):
        error = problem_of(502, text)
        assert type(error) is carboy.EngineError and "\x1b" not in str(error) and error.hint
        assert error.code is None
    for after, seconds in ((1500, 1.5), (10**30, 86_400.0), (0, None), ("1", None), (None, None)):
        told = {"code": "busy", "detail": "words", "status": 503, "retry_after_ms": after}
        busy = problem_of(503, json.dumps(told).encode())
        assert isinstance(busy, carboy.BusyError) and busy.retry_after == seconds
        again = pickle.loads(pickle.dumps(busy))
        assert (again.code, again.retry_after) == ("busy", seconds)


def test_artifacts_are_fetched_by_whatever_name_they_have(server: Server) -> None:
    code = "import os\nos.mkdir('a b')\nopen('a b/é%2f?#.txt', 'w').write('x' * 300_000)"
    with carboy.Sandbox(url=server.url, key=server.key) as box:
        (kept,) = box.run(code).artifacts
        assert kept.path == "a b/é%2f?#.txt" and kept.read() == b"x" * 300_000
        altered = carboy.Artifact(kept.path, kept.bytes, "0" * 64, None, kept._kept)
        with pytest.raises(carboy.EngineError, match="altered"):
            altered.read()
        missing = carboy.Artifact("b", kept.bytes, kept.sha256, None, kept._kept)
        with pytest.raises(carboy.RequestError, match="gone") as gone:
            missing.read()
        assert gone.value.hint
        assert pickle.loads(pickle.dumps(kept)) == kept
    # A server has it for a while, whoever has asked.
    assert kept.read() == b"x" * 300_000


def test_records_of_a_tenant_are_read(tmp_path: Path) -> None:
    with (
        serving(tmp_path, "--store", str(tmp_path / "store")) as server,
        carboy.Sandbox(url=server.url, key=KEY) as box,
    ):
        ids = [box.run(code).id for code in ("result = 1", "1 / 0", "result = 3")]
        found = box.runs.find()
        # The run that shows that runs work here belongs to no tenant.
        assert [run.id for run in found] == ids[::-1] and found[0].begins == "result = 3"
        assert [run.id for run in box.runs.find(status="error")] == [ids[1]]
        assert [run.id for run in box.runs.find(most=2)] == ids[:0:-1]
        assert box.runs.find(since="2999-01-01") == []
        for wrong in ({"status": "bad"}, {"since": "bad"}, {"text": "x"}):
            with pytest.raises(carboy.RequestError):
                box.runs.find(**wrong)
        record = box.runs.show(ids[1])
        assert (record.id, record.code) == (ids[1], "1 / 0") and record.facts["status"] == "error"
        assert record.outcome is not None and record.outcome.error is not None
        assert "program" not in record.facts["versions"] and "seq" not in record.facts
        for missing in (ids[1][:8], "last", "0" * 32):
            with pytest.raises(carboy.RequestError, match="no record of this name"):
                box.runs.show(missing)
        with pytest.raises(carboy.RequestError, match="whoever runs the server"):
            box.runs.verify()


def test_a_connection_that_was_given_to_another_is_replaced() -> None:
    """What the server says about one that was idle is no reason to fail a run."""
    closed = b'{"status":503,"code":"closed","detail":"this connection was idle"}'
    outcome = b'{"id":"0","status":"ok","artifacts":[]}'
    said = [b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(outcome), outcome)] * 3
    said[1] = (
        b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
        % (len(closed), closed)
    )
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        # The first two on one connection, the third on another.
        for answers in (said[:2], said[2:]):
            connection, _ = listener.accept()
            with connection:
                for answer in answers:
                    connection.recv(1 << 16)
                    connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    box = carboy.Sandbox(url=f"http://127.0.0.1:{listener.getsockname()[1]}", key=KEY)
    with listener:
        assert [box.run("1").status for _ in range(2)] == ["ok", "ok"]
        thread.join()
    box.close()


def test_a_prompt_tells_what_the_server_allows(server: Server) -> None:
    box = carboy.Sandbox(url=server.url, key=server.key)
    assert "Up to 16 child processes" in box.prompt() and "Packages" not in box.prompt()
    lower = carboy.Sandbox("low", url=server.url, key=server.key)
    assert "5 s of processor time" in lower.prompt()
    assert box.check("import os") == []


@pytest.mark.parametrize(
    "said",
    [
        b'HTTP/1.1 500 X\r\nContent-Length: 11\r\n\r\n{"code":[]}',
        b'HTTP/1.1 500 X\r\nContent-Length: 42\r\n\r\n{"code":"a","detail":"b","status":1e999}   ',
        b"HTTP/1.1 %b OK\r\n\r\n" % (b"2" * 5000),
        b"HTTP/1.1 200 OK\r\nContent-Length: %b\r\n\r\n" % (b"2" * 5000),
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCarboy-Run: ../x\r\n\r\nevent: a\n\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 100,
    ],
)
def test_odd_answers_are_errors_of_the_engine(said: bytes) -> None:
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for _ in range(2):
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(said)

    thread = threading.Thread(target=serve)
    thread.start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    with listener:
        with pytest.raises(carboy.EngineError):
            carboy.Sandbox(url=url, key=KEY).run("1")

        async def main() -> None:
            box = carboy.AsyncSandbox(url=url, key=KEY)
            try:
                await asyncio.wait_for(box.run("1"), 30)
            finally:
                await box.close()

        with pytest.raises(carboy.EngineError):
            asyncio.run(main())
        thread.join()
