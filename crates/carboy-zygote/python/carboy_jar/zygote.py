"""What a zygote does: import what was asked for, warm itself, and be forked into jars."""

from __future__ import annotations

import _thread
import atexit
import gc
import importlib
import os
import sys

from . import children, computer, heads, job
from .answers import NAME, encode_failure
from .frames import CONTROL
from .values import MAX_TEXT, clean, encode

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

# What CPython itself takes where the C library has too little. Threads of libraries have their own.
THREAD_STACK = 2 << 20
# CPython 3.11 adapts a function after eight calls, later versions after fewer.
REHEARSALS = 16


def start(lib: Any, preload: list[str], environment: dict[str, str]) -> None:
    """Serves the engine. What returns from the Rust half is a jar, which runs its job or holds a session."""
    prepare(lib, preload, environment)
    lib.carboy_serve(*sys.version_info[:3])
    heads.main(job.main())


def prepare(lib: Any, preload: list[str], environment: dict[str, str]) -> None:
    """Everything that jars share."""
    # Only the loader needed it, and that has done its work.
    os.environ.pop("LD_BIND_NOW", None)
    # All of a stack counts as memory when its thread starts, and few threads need much of it.
    _thread.stack_size(THREAD_STACK)
    computer.prepare()
    children.prepare()
    for name in preload:
        try:
            importlib.import_module(name)
        except BaseException as error:
            text = clean(f"{type(error).__name__}: {clean(error, MAX_TEXT)}", MAX_TEXT)
            os.write(CONTROL, encode({"not_preloaded": {"module": name, "error": text}}))
            os._exit(1)
        # The engine looks whether the module started a thread or shares memory. If it did, this
        # process ends here, and another does without it.
        shares = bool(lib.carboy_shares())
        os.write(CONTROL, encode({"imported": {"module": name, "shares": shares}}))
        if not os.read(CONTROL, 64):
            os._exit(0)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(  # type: ignore[union-attr] # they are what the interpreter made
            line_buffering=True, errors="backslashreplace"
        )
    os.environ.update(environment)
    sys.argv = [NAME]
    job.EXIT_FUNCTIONS = atexit._ncallbacks()
    # Compiling here spares every fork the page faults of its first compile, and an interpreter that
    # adapts code to what it sees does so after some runs: forks begin with adapted code.
    job.warm(REHEARSALS)
    # What reporting an error imports is imported before code has taken every descriptor.
    try:
        raise ValueError
    except ValueError as error:
        encode_failure(error)
    gc.collect()
    gc.freeze()
