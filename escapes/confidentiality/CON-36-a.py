# id: CON-36-a
# title: asks for the kernel's instruments
# walls: full nested
# first: seccomp
# second: capabilities
# expect: ok
# denies: perf_event_open bpf userfaultfd lookup_dcookie quotactl keyctl
# control: bare
"""Counters, programs in the kernel, faults handled by hand, quotas, keys: wide interfaces with a
long history of bugs, and a view of what others do. None may end the run without a word."""

import ctypes

libc = ctypes.CDLL(None, use_errno=True)
nr = context["nr"]
event = (ctypes.c_uint32 * 32)(1, 128)
event[10] = 1 | 1 << 5 | 1 << 6  # off, without kernel and hypervisor
map_wanted = (ctypes.c_uint32 * 18)(2, 4, 4, 1)
buffer = ctypes.create_string_buffer(256)
calls = {
    "perf_event_open": (nr["perf_event_open"], event, 0, -1, -1, ctypes.c_ulong(8)),
    "bpf": (nr["bpf"], 0, map_wanted, 72),
    "userfaultfd": (nr["userfaultfd"], 1),
    "userfaultfd of the kernel": (nr["userfaultfd"], 0),
    "lookup_dcookie": (nr["lookup_dcookie"], ctypes.c_ulong(1), buffer, ctypes.c_ulong(256)),
    "quotactl": (nr["quotactl"], 0x80000100, None, 0, None),
    "keyctl": (nr["keyctl"], 0, -3, 0),
}
done = [name for name, arguments in calls.items() if libc.syscall(*arguments) >= 0]
if done:
    result = [context["flag"], done]
