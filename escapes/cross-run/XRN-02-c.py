# id: XRN-02-c
# title: leaves a message in a queue of the kernel for the next run
# walls: full nested
# first: seccomp
# second: ipc namespace
# expect: ok
# denies: msgget semget
# control: bare
"""Queues and semaphores have keys that anybody can name, and outlive their makers."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
key = context["number"] & 0x7FFFFFFF | 1
mark = b"queued-%d" % context["number"]
queue = libc.msgget(key, 0o1666)
if queue >= 0:
    letter = ctypes.create_string_buffer((1).to_bytes(8, "little") + mark)
    libc.msgsnd(queue, letter, len(mark), 0o4000)
libc.semget(key, 1, 0o1666)
# ---
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
key = context["number"] & 0x7FFFFFFF | 1
mark = b"queued-%d" % context["number"]
queue = libc.msgget(key, 0)
if queue >= 0:
    letter = ctypes.create_string_buffer(256)
    libc.msgrcv(queue, letter, 200, 0, 0o4000)
    if mark in letter.raw:
        result = context["flag"]
    libc.msgctl(queue, 0, None)
semaphore = libc.semget(key, 1, 0)
if semaphore >= 0:
    result = context["flag"]
    libc.semctl(semaphore, 0, 0)
