# id: PRO-15-e
# title: opens its own pipes anew to have both ends of them
# walls: full
# first: private root
# second: none
# expect: ok
# control: none: the pipes of an answer exist only in a jar
"""The other end of a pipe can be had through its name, where there is one."""

import os

for fd in range(5):
    for path in (f"/proc/self/fd/{fd}", f"/dev/fd/{fd}", f"/proc/1/fd/{fd}", "/dev/stdin"):
        for mode in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
            try:
                os.close(os.open(path, mode | os.O_NONBLOCK))
                result = context["flag"]
            except OSError:
                pass
