"""The two pipes of a jar: frames in, frames out.

A frame is four bytes of length and so many bytes of JSON.
"""

from __future__ import annotations

import _thread
import os

from .values import DECODE

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

JOB, FRAMES = 3, 4
# The zygote's socket to the engine. In a jar this number is another thing.
CONTROL = 3
WRITING = _thread.allocate_lock()


def read_frame() -> Any:
    """The next message of the engine."""
    data = os.read(JOB, 1 << 16)
    # The engine writes one frame and waits, so nearly always that was all of it.
    if len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        data = read_rest(data)
    return DECODE(data[4:].decode(), 0)[0]


def read_rest(data: bytes) -> bytes:
    """The whole of a frame whose beginning has come."""
    pieces, count, wanted = [data], len(data), 4
    while True:
        if wanted == 4 and count >= 4:
            wanted += int.from_bytes(b"".join(pieces)[:4], "big")
        if wanted > 4 and count >= wanted:
            return b"".join(pieces)
        piece = os.read(JOB, 1 << 20)
        if not piece:
            os._exit(0)
        pieces.append(piece)
        count += len(piece)


def write_frame(body: bytes) -> None:
    """Sends a message, beside whatever other threads send."""
    with WRITING:
        write_whole(body)


def write_last_frame(body: bytes) -> None:
    """Threads of the code may still call tools. What they write now would come after the end."""
    WRITING.acquire()
    write_whole(body)


def write_whole(body: bytes) -> None:
    """Writes a frame, in as many pieces as it takes."""
    frame = len(body).to_bytes(4, "big") + body
    done = os.write(FRAMES, frame)
    if done < len(frame):
        rest = memoryview(frame)[done:]
        while rest:
            rest = rest[os.write(FRAMES, rest) :]
