"""The command `belljar`, also `python -m belljar`: becomes the program, with the same arguments."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from ._binary import VARIABLE, find_binary


def main() -> NoReturn:
    """Runs the program in place of this process."""
    try:
        program = find_binary()
    except FileNotFoundError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(10)  # as when belljar itself fails
    # If it names a script that ends up here, that one must not find itself again.
    os.environ.pop(VARIABLE, None)
    # Python ignores these, and a program inherits what is ignored.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    main()
