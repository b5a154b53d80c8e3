"""A server as a thread reaches it: connections that are kept, and requests one by one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO
from urllib.parse import quote

from ._address import Address
from ._artifacts import Artifact, Kept
from ._check import Violation, violation_of
from ._connection import CONNECT_SECONDS, READ_SIZE, Connection, Tls, unreachable
from ._errors import EngineError, RequestError
from ._http import (
    MOST_ANSWER,
    MOST_BODY,
    Answer,
    Body,
    Broken,
    Over,
    Step,
    Steps,
    exchange,
    following,
)
from ._json import NotJson, encoded
from ._problems import problem_of

# How long a request may take that is not a run, with the whole of its answer.
PATIENCE = 60.0
# The slowest that a long answer may come, in bytes a second.
_SLOWEST = 64 << 10
# More connections than this are not kept while nobody uses them.
MOST_IDLE = 16


class Client:
    """The connections to a server. Threads may share one."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False

    def take(self, within: float = CONNECT_SECONDS) -> Connection:
        """A connection, which was used before if one of these is left."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return self.fresh(within)

    def fresh(self, within: float = CONNECT_SECONDS) -> Connection:
        """A new connection, made in so many seconds or not at all."""
        address, tls = self.address, None
        within = max(min(within, CONNECT_SECONDS), 0.001)
        until = time.monotonic() + 2 * within
        try:
            if address.socket is not None:
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            else:
                where = (address.host, address.port)
                sock = socket.create_connection(where, timeout=within)
            try:
                if address.socket is not None:
                    sock.connect(address.socket)
                if address.tls is not None:
                    tls = Tls(address.tls, address.host)
                    drive(sock, tls.handshake(), until)
                sock.settimeout(None)
                return Connection(sock, tls)
            except BaseException:
                sock.close()
                raise
        except (OSError, Broken) as error:
            raise unreachable(address, error) from None

    def give_back(self, connection: Connection) -> None:
        """Keeps a connection for the next exchange."""
        connection.rest()
        with self._lock:
            if not self._is_closed and len(self._idle) < MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "application/json",
        take: Callable[[bytes], object] | None = None,
        most: int = MOST_ANSWER,
        within: float = PATIENCE,
        more: str = "",
    ) -> tuple[Answer, bytes]:
        """One request and the whole of its answer, whatever its status.

        With `take`, the body of one that is a success goes there, in parts. What is longer than `most`
        otherwise, or is not there after so many seconds, is an error. `more` is other headers.
        """
        head = self.address.request(method, path, body, content_type(body, kind) + more)
        until = time.monotonic() + within
        connection = self.take(within)
        while True:
            answer, held = Answer(), Body(most)

            def hear(part: bytes, answer: Answer = answer, held: Body = held) -> None:
                if take is not None and answer.status == 200:
                    take(part)
                else:
                    held.take(part)

            steps = connection.steps(exchange(answer, head, body or b"", hear))
            try:
                drive(connection.socket, steps, until)
                connection.socket.settimeout(None)
            except (OSError, Broken) as error:
                connection.close()
                is_late = isinstance(error, TimeoutError)
                if connection.is_used and not answer.status and not is_late:
                    # The server had closed it meanwhile.
                    connection = self.fresh(until - time.monotonic())
                    continue
                raise EngineError("the connection to the server was lost", [str(error)]) from None
            except BaseException:
                connection.close()
                raise
            if answer.keeps:
                self.give_back(connection)
            else:
                connection.close()
            return answer, held.text()

    def json(
        self, method: str, path: str, body: bytes | None = None, *, is_long: bool = False
    ) -> Any:
        """What a request is answered with, if that is JSON; the error of its problem otherwise.

        An answer that is long may be as long as an outcome.
        """
        most, within = (MOST_BODY, 10 * PATIENCE) if is_long else (MOST_ANSWER, PATIENCE)
        answer, text = self.ask(method, path, body, most=most, within=within)
        if answer.status >= 300:
            raise problem_of(answer.status, text)
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise EngineError("an answer of the server could not be parsed", [str(error)]) from None

    def close(self) -> None:
        """Closes what is idle."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def after_fork(self) -> None:
        """In a forked child: the connections are the parent's."""
        self._lock = threading.Lock()
        self.close()


class KeptThere(Kept):
    """The artifacts of one run, which a server has for some minutes."""

    def __init__(self, client: Client, run: str) -> None:
        self._client = client
        self._run = run

    def open(self, artifact: Artifact) -> BinaryIO:
        file = tempfile.TemporaryFile(prefix="carboy-")
        digest = hashlib.sha256()

        def take(part: bytes) -> None:
            digest.update(part)
            file.write(part)
            if file.tell() > artifact.bytes:
                raise Broken("more came than the file has")

        try:
            path = f"/v1/runs/{self._run}/files/{quote(artifact.path)}"
            within = PATIENCE + artifact.bytes / _SLOWEST
            answer, text = self._client.ask("GET", path, take=take, within=within)
            if answer.status == 404:
                raise RequestError(
                    f"the content of {artifact.path!r} is gone",
                    hint="a server keeps files for some minutes, the newest first: read or save them sooner",
                )
            if answer.status != 200:
                raise problem_of(answer.status, text)
            if digest.hexdigest() != artifact.sha256:
                raise EngineError(f"the content of {artifact.path!r} arrived altered")
            file.seek(0)
        except BaseException:
            file.close()
            raise
        return file

    def __copy__(self) -> KeptThere:
        return self

    def __deepcopy__(self, memo: object) -> KeptThere:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process has no connection, and must not have the key.
        return (_nothing, ())


def _nothing() -> None:
    return None


def content_type(body: bytes | None, kind: str = "application/json") -> str:
    """The header that says what a body is."""
    return "" if body is None else f"Content-Type: {kind}\r\n"


def performed(sock: socket.socket, step: Step) -> bytes | None:
    """Does what a step says."""
    if isinstance(step, bytes):
        sock.sendall(step)
        return None
    if step is None:
        return sock.recv(READ_SIZE)
    before = sock.gettimeout()
    sock.settimeout(step)
    try:
        return sock.recv(READ_SIZE)
    except TimeoutError:
        return None
    finally:
        sock.settimeout(before)


def advanced(sock: socket.socket, steps: Steps, step: Step) -> Step:
    """Does one step, and gives the next. Raises `Over` after the last."""
    try:
        result = performed(sock, step)
    except OSError as error:
        if not isinstance(step, bytes):
            raise
        return following(steps, error)
    return following(steps, result)


def drive(sock: socket.socket, steps: Steps, until: float) -> None:
    """Does all steps, if that is possible until then."""
    with contextlib.suppress(Over):
        step = following(steps, None)
        while True:
            left = until - time.monotonic()
            if left <= 0:
                raise TimeoutError("the server took too long")
            # However little comes at a time, all of it has to come in time; and none may be silent for long.
            sock.settimeout(min(left, PATIENCE))
            step = min(step, left) if isinstance(step, float) else step
            step = advanced(sock, steps, step)


def remote_policy(address: Address) -> Mapping[str, Any]:
    """What a run gets that names no policy."""
    client = Client(address)
    try:
        ceiling = client.json("GET", "/v1/policies")["ceiling"]
    finally:
        client.close()
    assert isinstance(ceiling, dict)
    return ceiling


def remote_violations(address: Address, code: str, policy: Mapping[str, Any]) -> list[Violation]:
    """What the language profile of a policy refuses in code; without a policy, that which the server sets."""
    if not isinstance(code, str):
        raise RequestError(f"code must be str, not {type(code).__name__}")
    language = (policy or remote_policy(address)).get("language")
    client = Client(address)
    try:
        if not language or language.get("profile", "open") == "open":
            language = None
        try:
            body = encoded({"code": code, "language": language and dict(language)})
        except NotJson:
            raise RequestError(
                "the code contains an unpaired surrogate", hint="read it as UTF-8"
            ) from None
        if language is None:
            return []
        found = client.json("POST", "/v1/check", body, is_long=True)
        return [violation_of(each) for each in found["violations"]]
    finally:
        client.close()
