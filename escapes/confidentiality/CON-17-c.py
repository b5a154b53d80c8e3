# id: CON-17-c
# title: takes mounts apart with the newer calls
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: open_tree move_mount fsopen fspick fsmount fsconfig mount_setattr
# control: bare
"""The newer mount calls work on descriptors: of a tree, of a file system that is mounted nowhere.
Old filters do not know their numbers."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
here = -100
attributes = (ctypes.c_ulong * 4)()
calls = {
    "open_tree": (nr["open_tree"], here, context["folder"].encode(), 0x80000),
    "open_tree of the root": (nr["open_tree"], here, b"/", 0x80000),
    "fsopen": (nr["fsopen"], b"tmpfs", 1),
    "fspick": (nr["fspick"], here, b".", 1),
    "fsconfig": (nr["fsconfig"], -1, 6, None, None, 0),
    "fsmount": (nr["fsmount"], -1, 1, 0),
    "move_mount": (nr["move_mount"], -1, b"", -1, b"", 4),
    "mount_setattr": (nr["mount_setattr"], -1, b"", 0x1000, attributes, ctypes.c_ulong(32)),
}
done = []
for name, arguments in calls.items():
    got = libc.syscall(*arguments)
    if got >= 0:
        done.append(name)
    if got > 2 and name.startswith("open_tree"):
        try:
            done.append(os.read(os.open("secret.txt", os.O_RDONLY, dir_fd=got), 99).decode())
        except OSError:
            pass
if done:
    result = [context["flag"], done]
