# id: INT-03-a
# title: opens the interpreter and the engine's library for writing
# walls: full nested
# first: mount namespace
# second: landlock
# expect: ok
# control: bare
"""A guest that can write the program it runs in owns the next start of it."""

import os
import sys

paths = [os.path.join(context["folder"], "run.sh"), sys.executable]
paths += [os.path.realpath(sys.executable), "/proc/self/exe", "/proc/1/exe", "/carboy/zygote.so"]
paths += ["/proc/%d/exe" % os.getppid(), "/proc/%d/exe" % os.getpid()]
result = []
for path in paths:
    for flags in (os.O_RDWR, os.O_WRONLY, os.O_WRONLY | os.O_APPEND):
        try:
            os.close(os.open(path, flags))
            result.append(context["flag"])
        except OSError as error:
            result.append(error.errno)
    if context["flag"] in result:
        break
