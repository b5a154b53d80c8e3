"""A connection to a server, and TLS on it without any I/O."""

from __future__ import annotations

import contextlib
import socket
import ssl
import time
from collections.abc import Generator

from ._address import Address
from ._errors import EngineError
from ._http import Broken, Over, Steps, following

READ_SIZE = 1 << 16
CONNECT_SECONDS = 10.0
# A server closes connections that are idle for longer than it says, 30 seconds if it says nothing.
_MOST_IDLE = 15.0


class Tls:
    """One end of TLS, between bytes that are sent and bytes that are meant."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._received, self._to_send, server_hostname=host)

    def handshake(self) -> Steps:
        """What comes before everything else."""
        while True:
            try:
                self._object.do_handshake()
                break
            except ssl.SSLWantReadError:
                pass
            yield from self._sent()
            data = yield None
            if not data:
                raise Broken("the connection ended in the handshake of TLS")
            self._received.write(data)
        yield from self._sent()

    def sealed(self, steps: Steps) -> Steps:
        """The same steps, as they are on the connection."""
        with contextlib.suppress(Over):
            yield from self._sealed(steps)

    def _sealed(self, steps: Steps) -> Steps:
        step = next(steps)
        while True:
            if isinstance(step, bytes):
                self._object.write(step)
                try:
                    yield from self._sent()
                except OSError as error:
                    step = following(steps, error)
                    continue
                result: bytes | None = None
            else:
                result = yield from self._read(step)
            step = following(steps, result)

    def _sent(self) -> Steps:
        if self._to_send.pending:
            yield self._to_send.read()

    def _read(
        self, step: float | None
    ) -> Generator[bytes | float | None, bytes | None, bytes | None]:
        while True:
            try:
                return self._object.read(READ_SIZE)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                # It hung up, with a word about that or without.
                return b""
            yield from self._sent()
            data = yield step
            if data is None:
                return None
            if data:
                self._received.write(data)
            else:
                self._received.write_eof()


class Connection:
    """A socket, for one exchange after the other."""

    def __init__(self, sock: socket.socket, tls: Tls | None) -> None:
        self.socket = sock
        self._tls = tls
        # Whether there was an exchange on it.
        self.is_used = False
        self._idle_since = 0.0
        if sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            # A run may take long, and a server that is gone does not say so.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def steps(self, steps: Steps) -> Steps:
        """The steps of an exchange, as they are on this connection."""
        return steps if self._tls is None else self._tls.sealed(steps)

    def rest(self) -> None:
        """It is idle from now on."""
        self.is_used, self._idle_since = True, time.monotonic()

    def is_usable(self) -> bool:
        """Whether an idle connection is still one, as far as can be known here."""
        if time.monotonic() - self._idle_since > _MOST_IDLE:
            return False
        # If there is something, it is the end, or nothing that was asked for.
        return not self.has_data()

    def has_data(self) -> bool:
        """Whether something can be read, or its end."""
        try:
            self.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            pass
        return True

    def cut(self) -> None:
        """Wakes whoever waits for it, in whatever thread. It still has to be closed."""
        with contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Closes it. Nobody may be waiting for it."""
        self.socket.close()


def unreachable(address: Address, error: Exception) -> EngineError:
    """For a server that there is no connection to."""
    return EngineError(
        f"could not reach the server at {address.url}",
        [str(error) or type(error).__name__],
        "is `carboy serve` running there? `curl URL/healthz` shows whether it answers",
    )
