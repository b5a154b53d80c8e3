# id: AV-24-d
# title: divides by zero in machine code
# machine: x86_64
# walls: full nested
# first: fresh fork
# second: pid namespace
# expect: crash
# control: none: a crash of its own needs no control
"""The kernel answers with a signal that comes back at once if it is ignored."""

import ctypes
import mmap
import signal

signal.signal(signal.SIGFPE, signal.SIG_IGN)
code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
code.write(b"\x31\xc9\xf7\xf1\xc3")
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
