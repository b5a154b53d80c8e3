"""HTTP/1.1 as a client needs it, without any I/O: bytes in, what they say out.

A thread and an event loop drive the same steps. A step is what is to be done next: bytes are to be
sent, a number is how many seconds to wait for bytes that may not come, and None is to wait for bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable

Step = bytes | float | None
# What a step comes to: received bytes, empty at the end; None if it sent, or if none came in time.
Steps = Generator[Step, "bytes | None", None]

_MOST_HEAD = 64 << 10
_MOST_LINE = 1 << 10
# Answers such as 100 that may come before the one that counts.
_MOST_BEFORE = 8
# Longer than any outcome that a policy allows.
MOST_BODY = 1 << 30
# Longer than any answer that is not an outcome and not a file.
MOST_ANSWER = 1 << 20
_STATUS = re.compile("[1-5][0-9][0-9]")
_LENGTH = re.compile("[0-9]{1,15}")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,12}")
# Longer bodies are sent when the server has said that it wants them, or has said nothing for a while.
_ASK_FIRST = 256 << 10
_ASK_SECONDS = 1.0
# A server says something on a stream every 15 seconds.
MOST_SILENCE = 60.0


class Broken(Exception):
    """The other side does not speak HTTP, or hung up too early."""


class HungUp(Broken):
    """The connection ended before the answer did."""


class Over(Exception):
    """All steps were done."""


def following(steps: Steps, result: bytes | OSError | None) -> Step:
    """The step after one that came to `result`. Raises `Over` after the last."""
    try:
        return steps.throw(result) if isinstance(result, OSError) else steps.send(result)
    except StopIteration:
        raise Over from None


class Answer:
    """The answer to one request, as it arrives."""

    def __init__(self) -> None:
        # 0 until the head is there.
        self.status = 0
        self.headers: dict[str, str] = {}
        # The server wants the body that it was asked about.
        self.goes_on = False
        self._before = 0
        # All of it is there.
        self.over = False
        # More than it is there.
        self.has_more = False
        self._buffer = b""
        self._chunked = False
        # Bytes of the body, or of this chunk, that are still to come; -1 if the end is the connection's.
        self._left = 0
        # In a chunked body: the line break after a chunk is still to come; trailers are read.
        self._in_break = self._in_trailers = False

    @property
    def keeps(self) -> bool:
        """Whether the connection can be used again."""
        closes = self.headers.get("connection", "").lower() == "close"
        return self.over and not self.has_more and not closes

    def feed(self, data: bytes) -> bytes:
        """Takes bytes, and returns those of the body among them."""
        if self.over:
            self.has_more = self.has_more or bool(data)
            return b""
        if not self.status:
            self._buffer += data
            data = self._take_head()
            if not self.status:
                return b""
        return self._chunks(data) if self._chunked else self._plain(data)

    def end(self) -> None:
        """The connection has ended."""
        if self.status and self._left == -1:
            self.over = True
        if not self.over:
            raise HungUp("the connection ended before the answer did")

    def _take_head(self) -> bytes:
        """Parses the head, if all of it is there, and returns what follows it."""
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                if len(self._buffer) > _MOST_HEAD:
                    raise Broken("the head of the answer is too long")
                return b""
            head, self._buffer = self._buffer[:end], self._buffer[end + 4 :]
            first, *lines = head.decode("latin-1").split("\r\n")
            words = first.split(" ", 2)
            if (
                len(words) < 2
                or not words[0].startswith("HTTP/1.")
                or not _STATUS.fullmatch(words[1])
            ):
                raise Broken("the answer is not HTTP")
            status = int(words[1])
            if status >= 200:
                break
            self.goes_on = True
            self._before += 1
            if self._before > _MOST_BEFORE:
                raise Broken("the answer does not begin")
        for line in lines:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        if words[0] == "HTTP/1.0":
            self.headers["connection"] = "close"
        self.status = status
        self._chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length")
        if status in (204, 304):
            self._chunked, self._left = False, 0
        elif not self._chunked and length is not None:
            if not _LENGTH.fullmatch(length):
                raise Broken("the answer has no usable length")
            self._left = int(length)
        elif not self._chunked:
            self._left = -1
        rest, self._buffer = self._buffer, b""
        return rest

    def _plain(self, data: bytes) -> bytes:
        if self._left == -1:
            return data
        part, rest = data[: self._left], data[self._left :]
        self._left -= len(part)
        if self._left == 0:
            self.over, self.has_more = True, bool(rest)
        return part

    def _chunks(self, data: bytes) -> bytes:
        parts: list[bytes] = []
        while data and not self.over:
            if self._left:
                part, data = data[: self._left], data[self._left :]
                self._left -= len(part)
                parts.append(part)
                self._in_break = self._left == 0
                continue
            end = data.find(b"\n")
            if end < 0 or len(self._buffer) > _MOST_LINE:
                self._buffer += data
                if len(self._buffer) > _MOST_LINE:
                    raise Broken("the answer has no usable chunks")
                break
            line, data = (self._buffer + data[:end]).strip(), data[end + 1 :]
            self._buffer = b""
            if self._in_break:
                self._in_break = False
            elif self._in_trailers:
                self.over = not line
            else:
                size = line.split(b";")[0].strip()
                if _SIZE.fullmatch(size) is None:
                    raise Broken("the answer has no usable chunks")
                self._left = int(size, 16)
                self._in_trailers = self._left == 0
        if self.over:
            self.has_more = bool(data)
        return b"".join(parts)


class Body:
    """The body of an answer, held as it arrives unless it is too long."""

    def __init__(self, most: int = MOST_ANSWER) -> None:
        self._most = most
        self._held = 0
        self._parts: list[bytes] = []

    def take(self, part: bytes) -> None:
        """Another part of it."""
        self._held += len(part)
        if self._held > self._most:
            raise Broken("the answer is too long")
        if part:
            self._parts.append(part)

    def text(self) -> bytes:
        """What has come."""
        return b"".join(self._parts)


class Events:
    """Server-sent events, as they arrive."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._held = 0
        self._name, self._data = "", b""

    def feed(self, data: bytes) -> list[tuple[str, bytes]]:
        """The events that are complete, each with its name."""
        lines = data.split(b"\n")
        self._partial.append(lines[0])
        self._held += len(lines[0])
        if self._held > MOST_BODY:
            raise Broken("an event of the answer is too long")
        if len(lines) == 1:
            return []
        lines[0] = b"".join(self._partial)
        self._partial = [lines.pop()]
        self._held = len(self._partial[0])
        found = []
        for line in lines:
            field, _, value = line.rstrip(b"\r").partition(b":")
            value = value.removeprefix(b" ")
            if field == b"event":
                self._name = value.decode("latin-1")
            elif field == b"data":
                # Ours have one line of data; a second is not from `carboy serve`.
                if self._data:
                    raise Broken("an event of the answer has several lines")
                self._data = value
            elif not line.strip() and self._name:
                found.append((self._name, self._data))
                self._name, self._data = "", b""
        return found


def exchange(
    answer: Answer, head: bytes, body: bytes | Iterable[bytes], take: Callable[[bytes], None]
) -> Steps:
    """Sends a request and has `take` hear of the answer's body, in parts, the last of which may be empty.

    A body in parts is one that the head has the length of.

    It ends when all of the answer is there. `OSError` is thrown into it if something cannot be sent.
    """

    def fed(data: bytes | None) -> None:
        if data:
            part = answer.feed(data)
            if answer.status:
                take(part)
        elif data is not None:
            answer.end()
            take(b"")

    waits = not isinstance(body, bytes) or len(body) > _ASK_FIRST
    try:
        if waits:
            yield head[:-2] + b"Expect: 100-continue\r\n\r\n"
            while not (answer.goes_on or answer.status):
                data = yield _ASK_SECONDS
                fed(data)
                if data is None:
                    break
        if answer.status:
            # It may take what comes next for the body.
            answer.headers["connection"] = "close"
        elif not isinstance(body, bytes):
            for part in body:  # noqa: UP028 (an error in sending is not one of whoever reads it)
                yield part
        else:
            yield body if waits else head + body
    except OSError:
        # It may have hung up because of what it answers now.
        if answer.over:
            return
    while not answer.over:
        streams = answer.headers.get("content-type", "").startswith("text/event-stream")
        data = yield MOST_SILENCE if streams else None
        if data is None:
            raise Broken(f"the server said nothing for {MOST_SILENCE:g} seconds")
        fed(data)
