"""The command `carboy`, also `python -m carboy`: becomes the program, with the same arguments."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from ._binary import VARIABLE, find_binary

# Commands that take an interpreter.
_ON_AN_INTERPRETER = ("run", "session", "doctor", "explain", "bench", "pipe", "drill")


def main() -> NoReturn:
    """Runs the program in place of this process."""
    try:
        program = find_binary()
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(10)  # as when carboy itself fails
    # If it names a script that ends up here, that one must not find itself again.
    os.environ.pop(VARIABLE, None)
    # Python ignores these, and a program inherits what is ignored.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execv(program, [program, *_arguments(sys.argv[1:])])


def _arguments(given: list[str]) -> list[str]:
    """The same, on this interpreter where no other is named: it has the packages of this environment."""
    names_one = any(word == "--python" or word.startswith("--python=") for word in given)
    if not given or given[0] not in _ON_AN_INTERPRETER or names_one:
        return given
    return [given[0], "--python", sys.executable, *given[1:]]


if __name__ == "__main__":
    main()
