# id: PRO-15-c
# title: pours pages into the result pipe without copying them
# walls: full nested
# first: seccomp
# second: frames
# expect: ok
# denies: splice vmsplice tee
# control: none: the pipe of an answer exists only in a jar
"""Pages given to a pipe can be changed after they were checked."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
whole = ctypes.create_string_buffer(len(body).to_bytes(4, "big") + body)
vector = (ctypes.c_uint64 * 2)(ctypes.addressof(whole), len(body) + 4)
libc.vmsplice(4, vector, ctypes.c_size_t(1), 0)
reader, writer = os.pipe()
os.write(writer, whole.raw[:-1])
libc.tee(reader, 4, ctypes.c_size_t(4096), 2)
libc.splice(reader, None, 4, None, ctypes.c_size_t(4096), 2)
result = "none of them"
