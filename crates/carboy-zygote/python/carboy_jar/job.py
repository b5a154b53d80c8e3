"""What a jar does: wait for its one job, run it, answer, and wait for its end."""

from __future__ import annotations

import atexit
import builtins
import importlib
import json
import linecache
import os
import sys
import types

from .answers import LAST_RESORT, NAME, encode_failure, encode_result
from .data_frames import lay_out
from .displays import begin, close, show_open
from .execute import execute
from .frames import JOB, read_frame, write_frame, write_last_frame
from .guard import guarded
from .showing import offer_notebook
from .tools import offer
from .values import DECODE, clean, encode

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .execute import Space

# The code that runs, for whoever asks for its lines.
CODE = ""
# How many exit functions modules have registered by themselves.
EXIT_FUNCTIONS = 0
WARM_JOB = json.dumps(
    {
        "code": "warm = {'n': [n * n for n in range(8)]}\nresult = sum(warm['n'])",
        "inputs": {"context": {"n": 1}},
        "displays": {"most": 0, "bytes": 0, "total_bytes": 0, "figures": "png", "tables": "html"},
    }
)


def new_main() -> Space:
    """An empty `__main__`, with what can be done before the code is there."""
    module = types.ModuleType("__main__")
    space = module.__dict__
    space["__file__"] = NAME
    # Otherwise it would get the builtins of this module, which are a copy.
    space["__builtins__"] = builtins.__dict__
    sys.modules["__main__"] = module
    # Asked for its lines only if somebody wants to see them.
    linecache.cache[NAME] = (lambda: CODE,)
    return space


def run_job(job: dict[str, Any], space: Space, finish: Callable[[], None]) -> bytes:
    """Runs a job to its end, and returns the frame with its result."""
    global CODE
    CODE = code = job["code"]
    begin(job["displays"])
    offer_notebook(code)
    space["context"] = None
    if "inputs" in job:
        space.update(job["inputs"])
    if "frames" in job:
        lay_out(job["frames"], code, space, os.getcwd())
    if "tools" in job:
        offer(job["tools"], space)
    if "guard" in job:
        space["__builtins__"] = guarded(job["guard"]).builtins
        code = job["guard"].get("code", code)
    try:
        value = execute(code, space)
        # Before exit functions close them.
        show_open()
        finish()
        value = space.get("result", value)
    except SystemExit as error:
        if error.code not in (None, 0):
            return encode_failure(error)
        show_open()
        finish()
        value = space.get("result")
    return encode_result(value, "strict" in job)


def finish(is_last: bool = True) -> None:
    """What an interpreter does at its end: wait for threads, run exit functions, flush."""
    threading = sys.modules.get("threading")
    if threading and threading.active_count() > 1 and is_last:
        threading._shutdown()
    # What stands there from the start belongs to modules that have nothing to end, but for logging.
    if (atexit._ncallbacks() != EXIT_FUNCTIONS or "logging" in sys.modules) and is_last:
        atexit._run_exitfuncs()
    flush()


def rehearse_end() -> None:
    """The same where a job comes after it."""
    finish(is_last=False)


def flush() -> None:
    """Writes out what the code printed."""
    for stream in (sys.stdout, sys.stderr):
        # The code may have closed or replaced them.
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            pass


def diverge() -> None:
    """What a fork must not share with its siblings. `random` sees to itself."""
    loaded: dict[str, Any] = sys.modules
    if "tempfile" in loaded:
        loaded["tempfile"].tempdir = None
    if "numpy.random" in loaded:
        loaded["numpy.random"].seed()
    if "ssl" in loaded:
        # OpenSSL tells forks apart by process id, and every jar is number 1.
        loaded["ssl"].RAND_add(os.urandom(32), 32.0)


def warm(times: int = 2) -> None:
    """A job of no importance: whatever a first job would touch is touched."""
    for _ in range(times):
        answer(DECODE(WARM_JOB, 0)[0], new_main(), rehearse_end)
        close()


def import_late(modules: list[str]) -> None:
    """Imports what cannot be in the zygote. What fails here, the code will hear from its own import."""
    global EXIT_FUNCTIONS
    for name in modules:
        try:
            importlib.import_module(name)
        except BaseException:
            pass
    flush()
    EXIT_FUNCTIONS = atexit._ncallbacks()


def answer(job: dict[str, Any], space: Space, finish: Callable[[], None]) -> bytes:
    """Runs the job, and returns its last frame, whatever the code did."""
    try:
        if "environment" in job:
            os.environ.update(job["environment"])
        return run_job(job, space, finish)
    except BaseException as error:
        # Kept: what the code held when it failed is a fact that the engine may look at.
        Failed.error = error
        return reported(error, NAME, finish)


def reported(error: BaseException, name: str, finish: Callable[[], None]) -> bytes:
    """The frame for an error of the code of this name, when everything is done that an end asks for."""
    try:
        body = encode_failure(error, name)
        show_open()
        finish()
    except MemoryError:
        return LAST_RESORT
    except BaseException as second:
        kind = clean(type(second).__name__, 200)
        return encode({"failed": {"type": kind, "message": "while reporting an error"}})
    return body


class Failed:
    """Where the error of a job is kept until the jar ends."""

    error: BaseException | None = None


def main() -> Any:
    """A jar's life. It returns only what the first process of a session is told first."""
    diverge()
    own = os.getpid()
    space = new_main()
    message = read_frame()
    while "job" not in message:
        if "import" in message:
            import_late(message["import"]["modules"])
            write_frame(b'{"done":{}}')
        elif "fork" in message:
            return message
        else:
            warm()
            write_frame(b'{"ready":{}}')
        space = new_main()
        message = read_frame()
    body = answer(message["job"], space, finish)
    if os.getpid() != own:
        # A child that the code forked has come to the end of the code. It has no answer to give.
        os._exit(0)
    close()
    write_last_frame(body)
    # The engine ends the jar. Until then nothing more is to be done.
    while os.read(JOB, 1):
        pass
    os._exit(0)
