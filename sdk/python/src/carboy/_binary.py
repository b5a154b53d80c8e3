"""Where the carboy program is."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "CARBOY_BINARY"


def find_binary() -> str:
    """The path of the `carboy` program.

    It is what `CARBOY_BINARY` names, if that is set; else the program that was installed with this
    package; else the first on `PATH`. `FileNotFoundError` says where it was looked for.
    """
    named = os.environ.get(VARIABLE)
    if named:
        if not os.access(named, os.X_OK) or os.path.isdir(named):
            raise FileNotFoundError(
                f"{VARIABLE} names {named}, which is not a program that can be executed; "
                f"correct or unset {VARIABLE}"
            )
        return os.path.abspath(named)

    # The zygote library lies beside it, where the program looks for it.
    installed = Path(__file__).resolve().parent / "bin" / "carboy"
    if os.access(installed, os.X_OK):
        return str(installed)

    for folder in os.get_exec_path():
        found = os.path.join(folder, "carboy")
        if os.path.isabs(found) and os.access(found, os.X_OK) and _is_compiled(found):
            return found

    state = "is not executable" if installed.exists() else "is not there"
    raise FileNotFoundError(
        f"no carboy program: {VARIABLE} is not set, {installed} {state}, and PATH has none; "
        f"install the wheel of carboy for this machine, or set {VARIABLE} to a program that you "
        "built, such as target/release/carboy"
    )


def _is_compiled(path: str) -> bool:
    """Whether this is the program, and not a script that asks us where the program is."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False
