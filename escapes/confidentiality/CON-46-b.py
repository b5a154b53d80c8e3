# id: CON-46-b
# title: learns how much memory the host has
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Memory is told as the policy has it. The host's total, and what is free of it, are a fingerprint
and a view of its load."""

import os


def texts(*spots):
    for spot in spots:
        try:
            yield open(spot, errors="replace").read()
        except OSError:
            pass
        for folder, _, names in os.walk(spot):
            for name in names:
                try:
                    yield open(os.path.join(folder, name), errors="replace").read(100_000)
                except OSError:
                    pass


total = context["host"]["memory_kib"]
seen = texts("/proc/meminfo", "/proc/vmstat", "/proc/zoneinfo", "/proc/self/status",
             "/sys/devices/system/node", "/sys/fs/cgroup/memory.max")
if any(total in text.split() for text in seen):
    result = [context["flag"], total]
