# id: CON-09-a
# title: opens its descriptors anew through /proc/self/fd and /dev/fd
# walls: full
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A pipe that is opened by its link in procfs can be had in the other direction: what the engine
sends could be written, what the jar sends could be read back."""

import os

here, there = os.pipe()
opened = []
for fd in range(64):
    for form in ("/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d", "/proc/1/fd/%d"):
        for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
            try:
                opened.append(os.open(form % fd, flags | os.O_NONBLOCK | os.O_CLOEXEC))
                os.close(opened[-1])
            except OSError:
                pass
for name in ("/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty", "/proc/self/fd"):
    try:
        opened.append(os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        pass
if opened:
    result = [context["flag"], len(opened)]
