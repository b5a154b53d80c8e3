"""One line on a terminal while the first run waits for its interpreter.

Importing pandas takes a second, and silence looks like a fault. Where standard error is no terminal
nothing is written.
"""

from __future__ import annotations

import sys
import time

# Nothing is shown for a wait shorter than this.
PATIENCE = 0.8


class Progress:
    """The line, until the first answer."""

    def __init__(self, words: str) -> None:
        self._words = words
        self._shown = False
        # Nothing is shown twice, and nothing after the first answer.
        self.pending = _is_terminal()
        self._since = time.monotonic()

    def begin(self) -> None:
        """A caller begins to wait."""
        self._since = time.monotonic()

    def left(self) -> float | None:
        """In how many seconds the line is due; None if it never is."""
        return max(0.0, self._since + PATIENCE - time.monotonic()) if self.pending else None

    def show(self) -> None:
        """Shows what is being waited for."""
        if self.pending:
            self.pending = False
            self._shown = _written(f"carboy: {self._words} …")

    def say(self, words: str) -> None:
        """There is something newer to tell, now or when the line is due."""
        self._words = words
        if self._shown:
            self._shown = _written(f"\r\x1b[Kcarboy: {words} …")

    def clear(self) -> None:
        """Removes the line."""
        self.pending = False
        if self._shown:
            self._shown = False
            _written("\r\x1b[K")


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def _written(text: str) -> bool:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        return False
    return True
