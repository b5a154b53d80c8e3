# id: CON-36-c
# title: watches files to learn what others do
# walls: full nested
# first: seccomp
# second: private root
# expect: ok
# denies: inotify_init inotify_init1 inotify_add_watch fanotify_init fanotify_mark
# control: bare
"""Being told of every opening of a shared library or of the canary would show when other jars and
the host are at work."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
done = []
for number, arguments in ((nr["inotify_init"], ()), (nr["inotify_init1"], (0x800,)),
                          (nr["fanotify_init"], (0, 0)), (nr["fanotify_init"], (0x200, 0))):
    watch = libc.syscall(number, *arguments)
    if watch >= 0:
        done.append(number)
    for path in (context["secret_file"].encode(), b"/usr/lib64", b"/dev/null", b"."):
        if libc.syscall(nr["inotify_add_watch"], watch, path, 0x20) >= 0:
            done.append("inotify_add_watch")
libc.syscall(nr["fanotify_mark"], -1, 1, ctypes.c_ulong(0x20), -100, b".")
if done:
    result = [context["flag"], done]
