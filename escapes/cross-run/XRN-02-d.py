# id: XRN-02-d
# title: leaves a message in a named queue for the next run
# walls: full nested
# first: seccomp
# second: ipc namespace
# expect: ok
# denies: mq_open
# control: bare
"""A named queue holds its messages until it is unlinked."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
name = b"bj%d" % context["number"]
mark = b"posted-%d" % context["number"]
# mq_open, then mq_timedsend
queue = libc.syscall(nr["mq_open"], name, 0o102 | 0o4000, 0o666, None)
if queue >= 0:
    libc.syscall(nr["mq_timedsend"], queue, mark, len(mark), 0, None)
# ---
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
name = b"bj%d" % context["number"]
mark = b"posted-%d" % context["number"]
queue = libc.syscall(nr["mq_open"], name, 0o2 | 0o4000, 0, None)
if queue >= 0:
    letter = ctypes.create_string_buffer(65536)
    libc.syscall(nr["mq_timedreceive"], queue, letter, 65536, None, None)
    if letter.value == mark:
        result = context["flag"]
    libc.syscall(nr["mq_unlink"], name)
