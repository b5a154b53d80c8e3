"""What the processes of a session do: fork when they are told to, and run code, one piece after another.

The first process of a session's jar is never sent code. It forks the first head, and reaps. A head runs
what it is sent in one `__main__` that it keeps, and forks when the engine wants a copy of it. A copy makes
itself known by a call that only the engine can answer, and finds pipes of its own when that returns.
Nothing here is a boundary: code that runs in a head can do all of it too, and the engine goes by what the
kernel says.
"""

from __future__ import annotations

import _thread
import builtins
import dis
import gc
import json
import linecache
import os
import sys
import types

from . import frames, job
from .answers import encode_failure, encode_result
from .data_frames import lay_out
from .displays import Showing, begin, close, show_open
from .execute import FLAGS, execute
from .forms import kind_of
from .frames import JOB
from .keeping import Keeper
from .showing import offer_notebook
from .tools import Calls, offer
from .values import DECODE, clean, encode

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

READY = b'{"ready":{}}'
# The argument by which the engine knows the call of a copy.
HELLO = 0x5E55
# A run that nobody asked for.
REHEARSAL = json.dumps({"code": "x += 1\nx"})
# Of how many pieces of code the lines are kept, for tracebacks.
PIECES = 200
# How long a name and the name of a type may be.
MAX_NAME = 100
# What C code computes when an attribute is asked for. Asking anything else might run the code.
Descriptor = (types.GetSetDescriptorType, types.MemberDescriptorType)


SIGNALS: Any = sys.modules["_signal"]
# What `signal` is made of, without its names for everything.
sigmask, SIG_BLOCK, SIG_SETMASK = SIGNALS.pthread_sigmask, SIGNALS.SIG_BLOCK, SIGNALS.SIG_SETMASK
EVERY = SIGNALS.valid_signals()
# Two of them cannot be blocked.
MOST_HELD = len(EVERY) - 2


class Inbox:
    """What the engine has sent and nobody has taken yet."""

    def __init__(self) -> None:
        self.held = bytearray()

    def next(self) -> Any:
        """The next message. Answers to calls of an earlier run are of no use any more."""
        while True:
            while len(self.held) < 4 or len(self.held) < 4 + int.from_bytes(self.held[:4], "big"):
                piece = os.read(JOB, 1 << 16)
                if not piece:
                    os._exit(0)
                self.held += piece
            end = 4 + int.from_bytes(self.held[:4], "big")
            message = DECODE(self.held[4:end].decode(), 0)[0]
            del self.held[:end]
            if "answer" not in message:
                return message


class Head:
    """One process of a session."""

    def __init__(self) -> None:
        self.inbox = Inbox()
        self.calls = Calls()
        self.keeper = Keeper()
        self.runs = 0
        self.error: BaseException | None = None
        # The signals that the code has blocked. Between runs all are.
        self.mask = sigmask(SIG_BLOCK, EVERY)
        self.begin()

    def begin(self) -> None:
        """An empty `__main__`."""
        self.space = job.new_main()
        self.space["context"] = None
        self.first = set(self.space)
        # What is to be made of files, when code first names it.
        self.frames: dict[str, Any] = {}
        self.home = os.getcwd()

    def serve(self, message: Any) -> None:
        """Does what it is told. It does not return.

        Between runs no signal of the code comes through, and no thread of it has the pipe: what it began to
        write there would not be heard to its end.
        """
        frames.WRITING.acquire()
        while True:
            if "job" in message:
                self.run(message["job"])
            elif "fork" in message:
                asked = message["fork"]
                fork(asked.get("ended", ()), self.rehearse if "rehearse" in asked else None)
            elif "variables" in message:
                frames.write_whole(self.variables(message["variables"]["most"]))
            elif "import" in message:
                job.import_late(message["import"]["modules"])
                frames.write_whole(b'{"done":{}}')
            elif "files" in message:
                frames.write_whole(self.files(message["files"]))
            elif "reap" in message:
                reap(message["reap"]["ended"])
                frames.write_whole(READY)
            else:
                job.warm()
                self.begin()
                frames.write_whole(READY)
            message = self.inbox.next()

    def run(self, piece: dict[str, Any]) -> None:
        """Runs a piece of code, and answers."""
        own, name = os.getpid(), f"run-{self.runs + 1}.py"
        self.runs += 1
        held: Any = None
        body, self.error = b"", None
        frames.WRITING.release()
        # Handlers of the code may raise until its signals are blocked, wherever this process is then. The
        # call that blocks them calls those that are due, and no more come after it. So this is no loop and
        # no function: at each step of those a handler can be called.
        try:
            try:
                body = self.answer(piece, name)
                held = sigmask(SIG_BLOCK, EVERY)
            except BaseException as error:
                self.error = error
                held = sigmask(SIG_BLOCK, EVERY)
        except BaseException as error:
            self.error = self.error or error
        if held is not None and len(held) < MOST_HELD:
            self.mask = held
        if os.getpid() != own:
            # A child that the code forked has come to the end of the code. It has no answer to give.
            os._exit(0)
        if self.error is not None:
            # Kept: what the code held when it failed is a fact that the engine may look at.
            body = job.reported(self.error, name, job.flush)
        close()
        # What came for a call that nobody waits for any more may have begun here.
        self.inbox.held, self.calls.held = self.calls.held, bytearray()
        frames.write_last_frame(body)

    def answer(self, piece: dict[str, Any], name: str) -> bytes:
        """Runs it, and returns the last frame if it ends well."""
        sigmask(SIG_SETMASK, self.mask)
        Showing.sent = Showing.over = 0
        Showing.notes.clear()
        begin(piece["displays"])
        self.calls.renew()
        self.prepare(piece, name)
        return self.execute(piece, name)

    def prepare(self, piece: dict[str, Any], name: str) -> None:
        """Puts everything in place that the code finds."""
        code = piece["code"]
        # Asked for its lines only if somebody wants to see them.
        linecache.cache[name] = (lambda: code,)
        linecache.cache.pop(f"run-{self.runs - PIECES}.py", None)
        self.space["__file__"] = name
        if "environment" in piece:
            os.environ.update(piece["environment"])
        offer_notebook(code)
        self.space.update(piece.get("inputs", {}))
        self.frames.update(piece.get("frames", {}))
        if self.frames:
            for made in lay_out(self.frames, code, self.space, self.home):
                del self.frames[made]
        if "tools" in piece:
            offer(piece["tools"], self.space, self.calls)

    def execute(self, piece: dict[str, Any], name: str) -> bytes:
        """Runs the code, and returns the frame with its result: what it assigned to `result`, or its last
        expression. What an earlier piece assigned is not the result of this one.
        """
        code, value = piece["code"], None
        try:
            value = execute(code, self.space, name)
        except SystemExit as error:
            if error.code not in (None, 0):
                return encode_failure(error, name)
        show_open()
        job.flush()
        if "result" in code and "result" in self.space and assigns_result(code, name):
            value = self.space["result"]
        return encode_result(value, "strict" in piece)

    def rehearse(self) -> None:
        """A run of no importance, for the sake of what it touches: after a fork each page that is written to
        is copied, and so it is copied before somebody waits for a run. The code has no part in it, and its
        threads, which are awake meanwhile, can show nothing and call nobody: this process has the pipe.
        """
        space, frames_due = self.space, self.frames
        try:
            if is_watched():
                return
            piece = DECODE(REHEARSAL, 0)[0]
            self.space, self.frames = {"__builtins__": builtins.__dict__, "x": 0}, {}
            self.prepare(piece, "rehearsal")
            encode_result(execute(piece["code"], self.space, "rehearsal"), strict=False)
            del linecache.cache["rehearsal"]
        except BaseException:
            # What the code did to modules that this needs, its own runs will hear of.
            pass
        finally:
            self.space, self.frames = space, frames_due

    def files(self, asked: dict[str, Any]) -> bytes:
        """Keeps files or puts them back, and answers. Only the first process is asked for that."""
        try:
            self.keeper.obey(asked)
        except BaseException as error:
            return encode_failure(error)
        return READY

    def variables(self, most: int) -> bytes:
        """What the code has defined: names, types, and sizes as far as they are told without effort."""
        found = []
        # Threads of the code may define more meanwhile.
        names = [name for name in list(self.space) if type(name) is str and name[:1] != "_"]
        names = [name for name in names if name not in self.first]
        for name in names[:most]:
            value = self.space.get(name)
            entry = {"name": clean(name, MAX_NAME), "type": clean(kind_of(value), MAX_NAME)}
            size = size_of(value)
            found.append(entry if size is None else {**entry, "size": size})
        more = max(0, len(names) - most)
        return encode({"done": {"result": {"variables": found, "more": more}}})


def is_watched() -> bool:
    """Whether the code would see what is run here. Audit hooks tell nobody that they are there."""
    monitoring: Any = getattr(sys, "monitoring", None)
    tools = map(monitoring.get_tool, range(6)) if monitoring else ()
    is_monitored = any(tool is not None for tool in tools)
    return bool(sys.gettrace() or sys.getprofile() or gc.callbacks or is_monitored)


def assigns_result(code: str, name: str) -> bool:
    """Whether a statement outside of functions assigns to `result`."""
    compiled = compile(code, name, "exec", FLAGS, dont_inherit=True)
    stores = ("STORE_NAME", "STORE_GLOBAL")
    steps = dis.get_instructions(compiled)
    return any(step.argval == "result" and step.opname in stores for step in steps)


def size_of(value: Any) -> int | None:
    """How large a value is, if it is of a kind that tells: bytes of arrays and tables, or how many parts."""
    try:
        kind = type(value)
        if kind in (str, bytes, bytearray, list, tuple, dict, set, frozenset, range):
            return len(value)
        size = value.nbytes if isinstance(kind.__dict__.get("nbytes"), Descriptor) else None
        return size if type(size) is int and 0 <= size < 1 << 53 else None
    except Exception:
        return None


def reap(ended: Any) -> None:
    """Waits for these children, as far as they are this process's own."""
    for process in ended:
        try:
            os.waitpid(process, os.WNOHANG)
        except OSError:
            # It is another's.
            pass


def fork(ended: Any, rehearse: Callable[[], None] | None) -> None:
    """Makes a copy of this process, which waits for messages of its own."""
    reap(ended)
    # The library reseeds itself in a fork. A copy is to go on as this process would.
    random: Any = sys.modules.get("random")
    try:
        state = random.getstate() if random else None
    except Exception:
        state = None
    try:
        is_copy = not os.fork()
    except Exception as error:
        frames.write_whole(encode_failure(error))
        return
    if not is_copy:
        if rehearse:
            # Meanwhile the copy makes itself known.
            rehearse()
        frames.write_whole(READY)
        return
    # Another thread may wait for it, and is not here.
    frames.WRITING = _thread.allocate_lock()
    frames.WRITING.acquire()
    if state:
        random.setstate(state)
    # Returns when the engine has put pipes in place that are this process's own. No signal can end it before:
    # they are all blocked.
    os.setpgid(0, HELLO)
    frames.write_whole(READY)


def main(message: Any) -> None:
    """The first process of a session's jar. It does not return."""
    Head().serve(message)
