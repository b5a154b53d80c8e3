"""The engine as a child process: how it starts, why it ended, and how it is ended.

It is in a session of its own, so that Ctrl-C in a terminal reaches the caller only, who decides
what is cancelled. It ends when its standard input does.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from typing import IO

from ._binary import find_binary
from ._errors import CarboyError, EngineError, EngineGoneError

# How long an engine may take to end by itself.
_GRACE = 1.0
_TAIL = 4_000
_LINES = 20


class EngineProcess:
    """A running engine and the two descriptors that requests and answers go through."""

    def __init__(self, options: list[str]) -> None:
        self._errors = _errors_file()
        try:
            command = [find_binary(), "pipe", *options]
            self._process = subprocess.Popen(
                command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors if self._errors is not None else subprocess.DEVNULL,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            if self._errors is not None:
                self._errors.close()
            raise EngineError(
                "could not start the engine",
                [str(error)],
                "install carboy again, or let CARBOY_BINARY name the program",
            ) from None
        assert self._process.stdin is not None and self._process.stdout is not None
        self.stdin: IO[bytes] = self._process.stdin
        self.stdout: IO[bytes] = self._process.stdout
        self.requests = self.stdin.fileno()
        self.answers = self.stdout.fileno()
        os.set_blocking(self.requests, False)
        os.set_blocking(self.answers, False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def kill(self) -> None:
        """Ends it now, and all runs with it."""
        self._process.kill()

    def reap(self, grace: float) -> None:
        """Waits until it ends, and kills it if it does not in time."""
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def hang_up(self) -> None:
        """Closes its standard input, and waits until it has ended."""
        self.stdin.close()
        self.reap(_GRACE)

    def close(self) -> None:
        """Ends it and closes the descriptors."""
        self.hang_up()
        self.stdout.close()
        if self._errors is not None:
            self._errors.close()

    def forget(self) -> None:
        """Closes the descriptors in a forked child, whose parent the engine belongs to."""
        self.stdin.close()
        self.stdout.close()
        if self._errors is not None:
            self._errors.close()
        # It is not ours to wait for.
        self._process.returncode = 0

    def why_gone(self, was_ready: bool) -> CarboyError:
        """Why it ended without a message about that, for one run."""
        how = _how(self._process.returncode)
        if was_ready:
            return EngineGoneError(
                f"the engine {how} while the run was under way",
                self._last_lines(),
                "the next run starts another",
            )
        return EngineError(
            f"the engine {how} before it was ready",
            self._last_lines(),
            "`carboy doctor` shows whether this host can run it",
        )

    def _last_lines(self) -> list[str]:
        """The end of what it wrote to standard error, for a person to read."""
        if self._errors is None or self._errors.closed:
            return []
        end = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, end - _TAIL))
        lines = self._errors.read().decode(errors="replace").splitlines()
        return [line.strip() for line in lines if line.strip()][-_LINES:]


def _errors_file() -> IO[bytes] | None:
    """An unnamed file for the engine's standard error. A pipe would need a reader."""
    try:
        return tempfile.TemporaryFile(prefix="carboy-")
    except OSError:
        return None


def _how(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
