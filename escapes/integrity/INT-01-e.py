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
nr = context["nr"]
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
    (nr["open"], (target, os.O_WRONLY | os.O_TRUNC, 0)),
    (nr["open"], (fresh[0], os.O_CREAT | os.O_WRONLY, 0o666)),
    (nr["creat"], (fresh[1], 0o666)),
    (nr["truncate"], (target, 3)),
    (nr["mkdirat"], (HERE, fresh[2], 0o777)),
    (nr["symlinkat"], (b"/", HERE, fresh[3])),
    (nr["renameat"], (HERE, own, HERE, fresh[4])),
    (nr["renameat2"], (HERE, own, HERE, target, 2)),  # renameat2: exchange
    (nr["renameat2"], (HERE, target, HERE, fresh[4], 1)),  # renameat2: never replace
    (nr["rename"], (target, fresh[4])),
    (nr["unlink"], (target,)),
):
    if call(number, *rest) >= 0:
        result.append(context["flag"])
