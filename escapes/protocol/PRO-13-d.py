# id: PRO-13-d
# title: raises the errors of limits that it has not reached
# walls: full nested
# first: engine measure
# second: none
# expect: exception
# control: none: the cause of an end is only judged by the engine
"""Out of memory, out of room, out of threads: an exception says it, but the kernel does not."""

raise MemoryError()
# ---
raise OSError(28, "no space left on device")
# ---
raise OSError(27, "file too large")
# ---
raise RuntimeError("can't start new thread")
# ---
raise BlockingIOError(11, "resource temporarily unavailable")
# ---
raise PermissionError(1, "operation not permitted")
# ---
raise TimeoutError()
