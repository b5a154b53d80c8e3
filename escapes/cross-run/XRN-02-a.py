# id: XRN-02-a
# title: leaves a named block of shared memory behind for the next run
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Named shared memory lives until somebody unlinks it. The next run must not find it."""

import mmap
import os

import _posixshmem

mark = b"shared-%d" % context["number"]
try:
    fd = _posixshmem.shm_open(f"/bj{context['number']}", os.O_CREAT | os.O_RDWR, mode=0o666)
    os.ftruncate(fd, 4096)
    block = mmap.mmap(fd, 4096)
    block[: len(mark)] = mark
except OSError:
    pass
# ---
import os

import _posixshmem

mark = b"shared-%d" % context["number"]
name = f"/bj{context['number']}"
try:
    fd = _posixshmem.shm_open(name, os.O_RDWR, mode=0)
    if os.read(fd, 4096).startswith(mark):
        result = context["flag"]
    _posixshmem.shm_unlink(name)
except OSError:
    pass
