# id: CON-31-b
# title: reads through the kernel's older asynchronous queues
# walls: full nested
# first: seccomp
# second: none
# expect: ok
# denies: io_setup io_submit io_getevents io_cancel io_destroy
# control: bare
"""The forerunner of the rings: requests are handed over in memory, where no filter looks, and are
carried out later."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
queue = ctypes.c_ulong(0)
events = ctypes.create_string_buffer(256)
done = []
if libc.syscall(nr["io_setup"], 4, ctypes.byref(queue)) == 0:
    done.append("setup")
for name, arguments in (("submit", (nr["io_submit"], queue, ctypes.c_long(0), None)),
                        ("events",
                         (nr["io_getevents"], queue, ctypes.c_long(0), ctypes.c_long(1), events,
                          None)),
                        ("cancel", (nr["io_cancel"], queue, None, None)),
                        ("destroy", (nr["io_destroy"], queue))):
    if libc.syscall(*arguments) >= 0:
        done.append(name)
if done:
    result = [context["flag"], done]
