# id: AV-24-c
# title: executes an instruction that does not exist
# walls: full nested
# first: fresh fork
# second: pid namespace
# expect: crash
# control: none: a crash of its own needs no control
"""Machine code of the guest's own: first that it can be run at all, then the undefined one."""

import ctypes
import mmap

code = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=7)
code.write(b"\x0f\x0b\xc3")
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()
