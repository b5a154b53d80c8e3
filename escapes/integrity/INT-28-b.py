# id: INT-28-b
# title: loads modules, swaps, accounts and restarts the machine
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: reboot kexec_load init_module finit_module delete_module swapon swapoff acct quotactl
# control: none: on a bare host these calls are not harmless for a caller who may use them
"""The arguments are such that nothing happens even if the call is let through: what counts is that
each is refused before the kernel looks at it."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
nothing = b"/carboy/no/such/file"
result = None
calls = [(nr["reboot"], 1, 2, 3, None), (nr["kexec_load"], None, 0, None, ctypes.c_ulong(1 << 20)),
         (nr["init_module"], None, 0, b""),
         (nr["finit_module"], -1, b"", 0), (nr["delete_module"], b"carboy_no_such_module", 0x800),
         (nr["swapon"], nothing, 0),
         (nr["swapoff"], nothing), (nr["acct"], nothing), (nr["quotactl"], 0, nothing, 0, None),
         (nr["kexec_file_load"], -1, -1, 0, None, 0)]
for number, *words in calls:
    ctypes.set_errno(0)
    if libc.syscall(number, *words) >= 0 or ctypes.get_errno() != 1:
        result = context["flag"]
