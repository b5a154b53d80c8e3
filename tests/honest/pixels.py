"""Reads the pixels of a PNG, so that what a program showed can be checked without a library for pictures."""

from __future__ import annotations

import struct
import zlib
from typing import Any


def pixels(display: Any) -> list[tuple[int, int, int]]:
    """The colors of a picture of eight bits, row by row, without transparency."""
    data: bytes = display.png
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    if depth != 8 or kind not in (2, 6) or interlaced:
        raise ValueError(f"a PNG of {depth} bits of kind {kind}")
    size = 3 if kind == 2 else 4
    packed, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            packed += data[at + 8 : at + 8 + length]
        at += length + 12
    raw, rows = zlib.decompress(packed), []
    above = bytearray(width * size)
    for row in range(height):
        start = row * (width * size + 1)
        line = bytearray(raw[start + 1 : start + 1 + width * size])
        _undo(raw[start], line, above, size)
        rows.append(line)
        above = line
    return [
        (line[at], line[at + 1], line[at + 2]) for line in rows for at in range(0, len(line), size)
    ]


def _undo(rule: int, line: bytearray, above: bytearray, size: int) -> None:
    """Undoes the filter of one line, in place."""
    for at in range(len(line)):
        left = line[at - size] if at >= size else 0
        up, corner = above[at], above[at - size] if at >= size else 0
        if rule == 1:
            line[at] = (line[at] + left) & 255
        elif rule == 2:
            line[at] = (line[at] + up) & 255
        elif rule == 3:
            line[at] = (line[at] + (left + up) // 2) & 255
        elif rule == 4:
            guess = left + up - corner
            near = min((left, up, corner), key=lambda value: abs(guess - value))
            line[at] = (line[at] + near) & 255
