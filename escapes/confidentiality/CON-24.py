# id: CON-24
# title: reads command lines, its own and those of others
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Whatever stands on a command line is there for everybody to read: code, keys, names of tenants.
Reads those of all it can name, and what its own interpreter was started with. In /proc there is a
generated one, which says `python`."""

import ctypes
import os
import sys

read = []
for pid in ("self", context["pid"], os.getppid(), 1, os.getpid()):
    for name in ("cmdline", "comm", "task/%s/comm" % pid):
        try:
            with open("/proc/%s/%s" % (pid, name), "rb") as file:
                text = file.read(200).decode("utf-8", "replace")
                read += [] if context["generated"] and text == "python\0" else [text]
        except OSError:
            pass
count, vector = ctypes.c_int(), ctypes.POINTER(ctypes.c_wchar_p)()
ctypes.pythonapi.Py_GetArgcArgv(ctypes.byref(count), ctypes.byref(vector))
own = [vector[index] for index in range(count.value)] + sys.argv + sys.orig_argv
result = own
if read:
    result = [context["flag"], read, own]
