# id: CON-23-a
# title: searches its memory for what an earlier run left
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""The first program fills memory with a mark. The second goes through the heap and the mappings
around its objects, page by page, through a pipe that fails where nothing is mapped."""

mark = context["flag"][::-1]
leftover = [("%s<%s>%d" % ("trace", mark, number)).encode() for number in range(20000)]
# ---
import ctypes
import os
import re

libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
sought = re.compile(b"[t]race<([0-9a-f]{32})>")
here, there = os.pipe()
size, span = 4096, 24 << 20
mapped = [id(object()), id([0] * 9), ctypes.addressof(ctypes.create_string_buffer(1 << 20)),
          libc.sbrk(0) or id(0)]
done = set()
found = None
for middle in mapped:
    for page in range((middle - span) & -size, middle + span, size):
        if page in done or found:
            continue
        done.add(page)
        if libc.write(there, ctypes.c_void_p(page), size) == size:
            match = sought.search(os.read(here, size))
            found = match and match.group(1).decode()[::-1]
result = found
