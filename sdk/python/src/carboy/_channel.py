"""The bytes between a pipe and its engine: lines out, as far as the engine takes them, and lines in.

Nothing here waits. A message is never left half written or half read: if an interrupt tears one
apart, the engine is ended, because nobody can tell any more where the next one begins.
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
        # Nothing can be sent any more.
        self.cut = False
        # And nothing will come.
        self.over = False
        # What cannot be left half done is under way.
        self._writing = self._reading = False
        self._torn = False
        # Why the engine was ended, if it was.
        self._why: Callable[[], CarboyError] | None = None
        self._outgoing: deque[memoryview] = deque()
        self._partial: list[bytes] = []

    # What those above add.

    def _unsent(self) -> None:
        """The engine does not take more now. Somebody must call `flush` when it does."""
        raise NotImplementedError

    def _take_all(self, lines: list[bytes]) -> None:
        """Takes the messages that came, under the lock."""
        raise NotImplementedError

    def gone(self) -> None:
        """The engine has ended, or is to end: nothing will come any more."""
        raise NotImplementedError

    # Bytes out.

    def _send(self, line: bytes) -> None:
        if self._begin_writing():
            self._put(line)
            self._writing = False

    def _begin_writing(self) -> bool:
        """Whether something can be sent. Who begins has the lock, and says when it is done."""
        if self._writing:
            # Somebody began and was interrupted.
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
            # It died. What it has answered before is still to be read.
            self.cut = True
            self._outgoing.clear()
            return 0

    def flush(self) -> bool:
        """Writes what waits. Whether some of it is left."""
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
        """Reads once what the engine wrote. Whether there was something."""
        if self._reading:
            # Somebody began and was interrupted.
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
            self.end_with(lambda: EngineError("the engine wrote something that is no message"))
        self._reading = False
        return bool(data)

    def _tear(self) -> None:
        """An interrupt tore a message apart: nobody can tell any more where the next begins."""
        self._torn = self.cut = True
        self._why = lambda: EngineGoneError("an interrupt came between two halves of a message")
        self.process.kill()

    def feed(self, data: bytes) -> None:
        """Takes the messages in some bytes, and keeps what is not whole."""
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
