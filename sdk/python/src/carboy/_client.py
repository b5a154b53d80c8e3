"""A server as a thread reaches it: connections that are kept, and requests one by one."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Mapping
from typing import Any

from ._address import Address
from ._check import Violation, violation_of
from ._connection import CONNECT_SECONDS, READ_SIZE, Connection, Tls, unreachable
from ._errors import EngineError, RequestError
from ._http import Answer, Broken, Over, Step, Steps, exchange, following
from ._json import NotJson, encoded
from ._problems import problem_of

# More connections than this are not kept while nobody uses them.
MOST_IDLE = 16


class Client:
    """The connections to a server. Threads may share one."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False

    def take(self) -> Connection:
        """A connection, which was used before if one of these is left."""
        while True:
            with self._lock:
                if not self._idle:
                    break
                connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return self.fresh()

    def fresh(self) -> Connection:
        """A new connection."""
        address, tls = self.address, None
        try:
            if address.socket is not None:
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            else:
                where = (address.host, address.port)
                sock = socket.create_connection(where, timeout=CONNECT_SECONDS)
            try:
                if address.socket is not None:
                    sock.connect(address.socket)
                if address.tls is not None:
                    tls = Tls(address.tls, address.host)
                    drive(sock, tls.handshake())
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
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> tuple[Answer, bytes]:
        """One request and the whole of its answer, whatever its status."""
        head = self.address.request(method, path, body, content_type(body, kind))
        connection = self.take()
        while True:
            answer = Answer()
            parts: list[bytes] = []
            steps = connection.steps(exchange(answer, head, body or b"", parts.append))
            try:
                drive(connection.socket, steps)
            except (OSError, Broken) as error:
                connection.close()
                if connection.is_used and not answer.status:
                    # The server had closed it meanwhile.
                    connection = self.fresh()
                    continue
                raise EngineError("the connection to the server was lost", [str(error)]) from None
            except BaseException:
                connection.close()
                raise
            if answer.keeps:
                self.give_back(connection)
            else:
                connection.close()
            return answer, b"".join(parts)

    def json(self, method: str, path: str, body: bytes | None = None) -> Any:
        """What a request is answered with, if that is JSON; the error of its problem otherwise."""
        answer, text = self.ask(method, path, body)
        if answer.status >= 300:
            raise problem_of(answer.status, text)
        try:
            return json.loads(text)
        except ValueError as error:
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


def drive(sock: socket.socket, steps: Steps) -> None:
    """Does all steps."""
    with contextlib.suppress(Over):
        step = following(steps, None)
        while True:
            step = advanced(sock, steps, step)


def remote_violations(address: Address, code: str, policy: Mapping[str, Any]) -> list[Violation]:
    """What the language profile of a policy refuses in code; without a policy, that which the server sets."""
    if not isinstance(code, str):
        raise RequestError(f"code must be str, not {type(code).__name__}")
    client = Client(address)
    try:
        language = policy.get("language")
        if not policy:
            language = client.json("GET", "/v1/policies")["ceiling"].get("language")
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
        found = client.json("POST", "/v1/check", body)
        return [violation_of(each) for each in found["violations"]]
    finally:
        client.close()
