# id: INT-01-e
# title: makes, changes, renames and cuts files of the host by every spelling of the calls
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Many calls have an older spelling without a directory and a newer one with flags. What holds for
one must hold for all: the layers judge the file and not the call."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
call.restype = ctypes.c_long
folder = context["folder"]
target = os.fsencode(os.path.join(folder, "target.txt"))
fresh = [os.fsencode(os.path.join(folder, name)) for name in ("a", "b", "c", "d", "e")]
own = os.fsencode(os.path.abspath("own"))
open(own, "w").close()
HERE = ctypes.c_int(-100)
result = []
for number, rest in (
    (2, (target, os.O_WRONLY | os.O_TRUNC, 0)),  # open
    (2, (fresh[0], os.O_CREAT | os.O_WRONLY, 0o666)),
    (85, (fresh[1], 0o666)),  # creat
    (76, (target, 3)),  # truncate
    (258, (HERE, fresh[2], 0o777)),  # mkdirat
    (266, (b"/", HERE, fresh[3])),  # symlinkat
    (264, (HERE, own, HERE, fresh[4])),  # renameat
    (316, (HERE, own, HERE, target, 2)),  # renameat2: exchange
    (316, (HERE, target, HERE, fresh[4], 1)),  # renameat2: never replace
    (82, (target, fresh[4])),  # rename
    (87, (target,)),  # unlink
):
    if call(number, *rest) >= 0:
        result.append(context["flag"])
