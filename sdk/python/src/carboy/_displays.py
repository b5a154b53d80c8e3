"""What code showed: figures, tables, pictures.

All of it is the guest's. HTML and drawings may contain scripts: in notebooks they stand in sandboxed
frames that load nothing and run nothing, and pictures stand in the page as data.
"""

from __future__ import annotations

import base64
import json
import os
import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from ._visible import one_line, visible

_BYTES = ("image/png", "image/jpeg", "image/gif", "application/vnd.apache.arrow.stream")
_PICTURES = _BYTES[:3]
# Goes before whatever the guest wrote, so that nothing after it can load or run anything.
_POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:\">"
)
_LINK = re.compile("<link", re.IGNORECASE)
_MOST_TEXT = 4_000


@dataclass(frozen=True)
class Display:
    """One thing that the code showed."""

    media_type: str
    data: Any = field(hash=False)
    """As the engine has it: text, bytes as text in base64, or JSON."""

    @property
    def content(self) -> bytes:
        """The data as a file of its type has it."""
        if self.media_type in _BYTES:
            return base64.b64decode(self.data)
        if self.media_type.endswith("json"):
            return json.dumps(self.data, ensure_ascii=False).encode()
        return str(self.data).encode()

    @property
    def png(self) -> bytes | None:
        """A picture in PNG; `None` if it is something else."""
        return self._bytes("image/png")

    @property
    def jpeg(self) -> bytes | None:
        """A picture in JPEG."""
        return self._bytes("image/jpeg")

    @property
    def svg(self) -> str | None:
        """A drawing. It may contain scripts."""
        return self._text("image/svg+xml")

    @property
    def html(self) -> str | None:
        """A page or a part of one. It may contain scripts: show it in a sandboxed frame only."""
        return self._text("text/html")

    @property
    def text(self) -> str | None:
        """Plain text."""
        return self._text("text/plain")

    @property
    def json(self) -> Any:
        """A value, such as a figure of plotly; `None` if it is something else."""
        return self.data if self.media_type.endswith("json") else None

    @property
    def arrow(self) -> bytes | None:
        """A table as a stream of Arrow IPC."""
        return self._bytes("application/vnd.apache.arrow.stream")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the content to a file, and returns where it is."""
        target = Path(path)
        target.write_bytes(self.content)
        return target

    def _bytes(self, media_type: str) -> bytes | None:
        return base64.b64decode(self.data) if self.media_type == media_type else None

    def _text(self, media_type: str) -> str | None:
        return str(self.data) if self.media_type == media_type else None

    def __repr__(self) -> str:
        return f"<Display {one_line(self.media_type, 100)}, {len(self.content)} bytes>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": repr(self), "text/html": harmless(self)}


def harmless(display: Display) -> str:
    """HTML that shows a display in somebody else's page, and loads and runs nothing."""
    if display.media_type in _PICTURES:
        # Checked to be base64 by the engine; encoded again, whoever made this object.
        data = base64.b64encode(display.content).decode()
        return f'<img src="data:{display.media_type};base64,{data}">'
    if display.svg is not None:
        data = base64.b64encode(display.content).decode()
        return f'<img src="data:image/svg+xml;base64,{data}">'
    if display.html is not None:
        # No policy keeps a browser from looking up the host that a link names.
        page = escape(_POLICY + _LINK.sub("&lt;link", display.html))
        style = "width: 100%; height: 24em; border: 0; background: white"
        return f'<iframe sandbox srcdoc="{page}" style="{style}"></iframe>'
    if display.arrow is not None:
        return f"<pre>{escape(repr(display))}</pre>"
    text = visible(display.content[:_MOST_TEXT].decode(errors="replace"))
    return f"<pre>{escape(text)}</pre>"
