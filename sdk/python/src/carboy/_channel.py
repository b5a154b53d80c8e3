"""The bytes between a pipe and its engine: lines out, as far as the engine accepts them, and lines in.

Nothing here blocks. If an interrupt leaves a message half written or half read, the engine is
ended, because it is unknown where the next message begins.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable

from ._errors import CarboyError, EngineError, EngineGoneError
from ._messages import Garbage
from ._process import EngineProcess

READ_SIZE = 1 << 16


class Channel:
    """An engine and the two directions of its pipe."""

    def __init__(self, options: list[str]) -> None:
        self.lock = threading.Lock()
        self.process = EngineProcess(options)
        # No more can be sent.
        self.cut = False
        # And no more will arrive.
        self.over = False
        # A message is being written or read.
        self._writing = self._reading = False
        self._torn = False
        # Why the engine was ended, if it was.
        self._why: Callable[[], CarboyError] | None = None
        self._outgoing: deque[memoryview] = deque()
        self._partial: list[bytes] = []

    # What subclasses add.

    def _unsent(self) -> None:
        """The engine accepts no more now. `flush` must be called when it does."""
        raise NotImplementedError

    def _take_all(self, lines: list[bytes]) -> None:
        """Takes the messages that arrived, with the lock held."""
        raise NotImplementedError

    def gone(self) -> None:
        """The engine has ended or is being ended: no more messages will arrive."""
        raise NotImplementedError

    # Bytes out.

    def _send(self, line: bytes) -> None:
        if self._begin_writing():
            self._put(line)
            self._writing = False

    def _begin_writing(self) -> bool:
        """Whether something can be sent. The caller holds the lock, and clears `_writing` when done."""
        if self._writing:
            # An earlier call was interrupted.
            self._tear()
        if self.cut or self.over:
            return False
        self._writing = True
        return True

    def _put(self, line: bytes) -> None:
        if self._outgoing:
            self._outgoing.append(memoryview(line))
            return
        written = self._write(line)
        if written < len(line) and not self.cut:
            self._outgoing.append(memoryview(line)[written:])
            self._unsent()

    def _write(self, line: bytes | memoryview) -> int:
        try:
            return os.write(self.process.requests, line)
        except BlockingIOError:
            return 0
        except OSError:
            # It died. What it wrote before that can still be read.
            self.cut = True
            self._outgoing.clear()
            return 0

    def flush(self) -> bool:
        """Writes what is queued. Returns whether some of it is left."""
        with self.lock:
            if not self._begin_writing():
                return False
            while self._outgoing:
                first = self._outgoing[0]
                written = self._write(first)
                if written < len(first):
                    if not self.cut:
                        self._outgoing[0] = first[written:]
                    break
                self._outgoing.popleft()
            self._writing = False
            return bool(self._outgoing)

    # Bytes in.

    def receive(self) -> bool:
        """Reads once. Returns whether there was something."""
        if self._reading:
            # An earlier call was interrupted.
            self._tear()
        self._reading = True
        data = b""
        try:
            data = os.read(self.process.answers, READ_SIZE)
            if not data:
                self.gone()
            elif not self._torn:
                self.feed(data)
        except BlockingIOError:
            pass
        except Garbage:
            self.end_with(lambda: EngineError("the engine sent an invalid message"))
        self._reading = False
        return bool(data)

    def _tear(self) -> None:
        """An interrupt left a message incomplete: it is unknown where the next one begins."""
        self._torn = self.cut = True
        self._why = lambda: EngineGoneError("an interrupt left a message incomplete")
        self.process.kill()

    def feed(self, data: bytes) -> None:
        """Takes the messages in some bytes, and keeps an incomplete one for later."""
        if not self._partial and data.find(b"\n") == len(data) - 1:
            lines = [data]  # Nearly always there is one, and all of it.
        else:
            lines = data.split(b"\n")
            if self._partial:
                self._partial.append(lines[0])
                if len(lines) == 1:
                    return
                lines[0] = b"".join(self._partial)
            last = lines.pop()
            self._partial = [last] if last else []
        with self.lock:
            self._take_all(lines)

    def end_with(self, why: Callable[[], CarboyError]) -> None:
        """Ends the engine now; every run under way gets this error."""
        self._why = self._why or why
        self.process.kill()
        self.gone()
