"""Makes what guest code wrote harmless to look at.

A terminal obeys escape sequences, and a reader is misled by characters that hide or turn text. Here
they are spelled out, and nothing is longer than its reader can bear.
"""

from __future__ import annotations

import re
from itertools import islice
from reprlib import Repr
from typing import Any

# Controls, characters without width or ink, those that change the direction of writing, the
# separators that some editors take for line ends, tags and selectors, and unpaired surrogates. A
# selector that chooses between the two looks of the symbol before it, as in ⚠️, is seen.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
    "|(?<![#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)


def _spelled(found: re.Match[str]) -> str:
    number = ord(found[0])
    if number == 0x0D:
        return "\\r"
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def visible(text: str) -> str:
    """The text with every character that cannot be seen spelled out, but line ends and tabs."""
    return _UNSEEN.sub(_spelled, text)


def one_line(text: str, most: int = 500) -> str:
    """The beginning of the text, on one line."""
    return beginning(visible(text[: most + 1]).replace("\n", "\\n").replace("\t", " "), most)


def beginning(text: str, most: int) -> str:
    """At most so many characters, with a note if there were more."""
    return text if len(text) <= most else f"{text[:most]}…"


def ending(text: str, most: int) -> tuple[str, str]:
    """At most the last so many characters, visible, and a note on what is left out."""
    if len(text) <= most:
        return visible(text), ""
    return visible(text[-most:]), f"the last {most} of {len(text)} characters"


class _Bounded(Repr):
    """A `repr` whose work is bounded too."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 6
        self.maxlist = self.maxdict = 40
        self.maxstring = self.maxlong = self.maxother = 300
        # In all; what is no deeper and no wider can still be large.
        self._left = 2_000

    def repr1(self, x: Any, level: int) -> str:
        """As the original, as long as there is work left."""
        self._left -= 1
        return super().repr1(x, level) if self._left > 0 else "..."

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """In the order of the dict, which the original sorts."""
        if level <= 0 and x:
            return "{...}"
        some = islice(x.items(), self.maxdict)
        parts = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}" for key, value in some
        ]
        if len(x) > self.maxdict:
            parts.append("...")
        return f"{{{', '.join(parts)}}}"


def shown(value: Any, most: int) -> str:
    """A JSON value as Python writes it, bounded."""
    return one_line(_Bounded().repr(value), most)
