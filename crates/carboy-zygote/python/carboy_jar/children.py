"""What `multiprocessing` and joblib find in a jar.

A jar starts no program, and the kernel shares no lock between its processes. So semaphores are event
descriptors, which forks inherit and which can be waited for; memory with a name is a file; nobody is
started to clean up behind processes that cannot outlive the jar; start methods that would start an
interpreter fork; and joblib's default, which would start one for each worker, takes threads. Whether a
process may be forked at all is for the policy to say (`limits.processes`).
"""

from __future__ import annotations

import errno
import os
import select
import sys
from _thread import get_ident
from time import monotonic

from .computer import font_metrics, fonts, shared_memory
from .showing import SHOWN

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

RECURSIVE_MUTEX = 0


class SemLock:
    """What `_multiprocessing.SemLock` is, over an event descriptor that counts."""

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(
        self, kind: int, value: int, maxvalue: int, name: str | None = None, unlink: bool = True
    ) -> None:
        self.kind = kind
        self.maxvalue = maxvalue
        # It has no name: nothing is to be removed.
        self.name = None
        self.handle = os.eventfd(value, os.EFD_SEMAPHORE | os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._held = 0
        self._holder = 0

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if hasattr(self, "handle"):
            close(self.handle)

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        """Takes one; waits for it if that is wanted."""
        if self.kind == RECURSIVE_MUTEX and self._is_mine():
            self._held += 1
            return True
        deadline = None if timeout is None else monotonic() + max(timeout, 0.0)
        while not self._take():
            left = None if deadline is None else (deadline - monotonic()) * 1000
            if not block or (left is not None and left <= 0):
                return False
            waiting = select.poll()
            waiting.register(self.handle, select.POLLIN)
            waiting.poll(left)
        self._held += 1
        self._holder = get_ident()
        return True

    def _take(self) -> bool:
        try:
            os.eventfd_read(self.handle)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        """Gives one back."""
        if self.kind == RECURSIVE_MUTEX:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        elif self.maxvalue == 1 and not self._is_zero():
            raise ValueError("semaphore or lock released too many times")
        self._held -= 1
        os.eventfd_write(self.handle, 1)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _count(self) -> int:
        return self._held

    def _is_mine(self) -> bool:
        return self._held > 0 and self._holder == get_ident()

    def _get_value(self) -> int:
        # As where the C library cannot tell it either.
        raise NotImplementedError(
            "Queue.qsize() and Semaphore.get_value() are not available here; "
            "use empty(), or count what is put and taken"
        )

    def _is_zero(self) -> bool:
        waiting = select.poll()
        waiting.register(self.handle, select.POLLIN)
        return not waiting.poll(0)

    def _after_fork(self) -> None:
        self._held = 0


def semaphores(module: Any) -> None:
    """`_multiprocessing`: its own semaphores wait for each other in memory that processes share."""
    module.SemLock = SemLock
    module.sem_unlink = lambda name: None


def named_memory(module: Any) -> None:
    """`_posixshmem`: blocks of memory with a name are files of the jar, and count as such."""

    def place(name: str) -> str:
        from tempfile import gettempdir

        return os.path.join(gettempdir(), f".shared-{name.strip('/')}")

    def shm_open(path: str, flags: int, mode: int = 0o777) -> int:
        return os.open(place(path), flags | os.O_CLOEXEC, mode)

    module.shm_open = shm_open
    module.shm_unlink = lambda path: os.unlink(place(path))


def heap(module: Any) -> None:
    """`multiprocessing.heap`: where arrays that processes share lie. The temporary directory will do."""
    module.Arena._dir_candidates = []


def tracker(module: Any) -> None:
    """`multiprocessing.resource_tracker`: a program that removes what is left; here nothing is."""
    for name in ("ensure_running", "_ensure_running_and_write", "_send"):
        if hasattr(module.ResourceTracker, name):
            setattr(module.ResourceTracker, name, lambda self, *_, **__: None)


def start_method(module: Any) -> None:
    """A way to start processes by a program of their own: they are forked instead."""
    from multiprocessing.popen_fork import Popen

    module.Popen = Popen


def managers(module: Any) -> None:
    """`multiprocessing.managers`: servers of objects, which are reached by sockets."""

    def start(self: Any, initializer: Any = None, initargs: Any = ()) -> None:
        raise PermissionError(
            errno.EPERM,
            "multiprocessing.Manager needs a socket, and there are none here; share data by "
            "multiprocessing.Queue, Pipe, Value or Array, or use threads and ordinary objects",
        )

    module.BaseManager.start = start


def thread_pools(module: Any) -> None:
    """`threadpoolctl`: asks the kernel which libraries are loaded; the loader knows it too."""
    controller = module.ThreadpoolController
    by_loader = getattr(controller, "_find_libraries_with_dl_iterate_phdr", None)
    if by_loader is not None and hasattr(controller, "_find_libraries_with_linux"):
        controller._find_libraries_with_linux = by_loader


def own_processors(module: Any) -> None:
    """`psutil._pslinux`: asks by the number of its process, which the filter refuses: any would tell."""
    ask = module.Process.cpu_affinity_get

    def cpu_affinity_get(self: Any) -> Any:
        return sorted(os.sched_getaffinity(0)) if self.pid == os.getpid() else ask(self)

    module.Process.cpu_affinity_get = cpu_affinity_get


def joblib_backends(module: Any) -> None:
    """`joblib.parallel`: workers that are programs of their own."""
    module.BACKENDS["loky"] = module.ThreadingBackend


CHANGES: dict[str, Callable[[Any], None]] = {
    "_multiprocessing": semaphores,
    "_posixshmem": named_memory,
    "mmap": shared_memory,
    "multiprocessing.heap": heap,
    "multiprocessing.managers": managers,
    "multiprocessing.resource_tracker": tracker,
    "multiprocessing.popen_spawn_posix": start_method,
    "multiprocessing.popen_forkserver": start_method,
    "joblib.parallel": joblib_backends,
    "matplotlib._afm": font_metrics,
    "matplotlib.font_manager": fonts,
    "psutil._pslinux": own_processors,
    "threadpoolctl": thread_pools,
    **SHOWN,
}

# These ask a program when they are imported, and go on without it if there is none.
ASKING = {"matplotlib.font_manager"}


class Finder:
    """Finds these modules where they lie, and has them changed when they have been executed."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a module that is to be changed; nothing of any other."""
        change = CHANGES.get(name)
        if change is None:
            return None
        for finder in sys.meta_path:
            spec = None if finder is Finder else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = Changing(spec.loader, change)  # type: ignore[assignment] # looks like one
                return spec
        return None


class Changing:
    """A loader that changes what the other loaded."""

    def __init__(self, loader: Any, change: Callable[[Any], None]) -> None:
        self._loader = loader
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As the other does."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """As the other does, and then the change."""
        if module.__name__ in ASKING:
            asking_no_program(lambda: self._loader.exec_module(module))
        else:
            self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        try:
            self._change(module)
        except (AttributeError, KeyError):
            # A version that is made in another way stays as it is.
            pass


def asking_no_program(do: Callable[[], None]) -> None:
    """Does something for which the programs whose output is asked for are not there.

    They cannot be started anyway, but to try is a refusal, which an honest program would be shown.
    """
    import subprocess

    def check_output(args: Any, *_: Any, **__: Any) -> Any:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(args))

    asks, subprocess.check_output = subprocess.check_output, check_output
    try:
        do()
    finally:
        subprocess.check_output = asks


def without_process_descriptors() -> None:
    """`asyncio` and `subprocess` look for this function, and try it when they are imported.

    The filter refuses it, and an honest program would be shown a refusal that is none of its doing.
    """
    for module in (os, sys.modules["posix"]):
        vars(module).pop("pidfd_open", None)
    if "pidfd_open" in os.__all__:
        os.__all__.remove("pidfd_open")


def prepare() -> None:
    """From here on these modules are changed when they are imported."""
    without_process_descriptors()
    if hasattr(os, "eventfd"):
        sys.meta_path.insert(0, Finder)
