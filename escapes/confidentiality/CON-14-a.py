# id: CON-14-a
# title: reads what /proc tells about the kernel and the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Addresses of the kernel, keys, load, memory, mounts: some help to attack it, some tell what else
the host is doing. What was generated in their place tells of the jar."""

import os

names = """kallsyms kcore keys key-users timer_list sched_debug iomem ioports modules config.gz
cmdline version loadavg stat meminfo mounts self/mountinfo self/mounts self/maps self/status
self/environ self/cgroup self/attr/current cpuinfo interrupts softirqs vmstat zoneinfo slabinfo
uptime swaps partitions diskstats filesystems devices crypto locks buddyinfo net/tcp net/unix
net/route sys/kernel/osrelease sys/kernel/randomize_va_space sys/fs/file-nr pressure/cpu
pagetypeinfo sysvipc/shm 1/mountinfo bus/pci/devices""".split()
read = []
for name in names:
    try:
        if os.read(os.open("/proc/" + name, os.O_RDONLY | os.O_NONBLOCK), 16):
            known = "/proc/" + name.replace("self/", "1/") in context["generated"]
            read += [] if known else [name]
    except OSError:
        pass
try:
    read += [load for load in os.getloadavg() if load]
except OSError:
    pass
if read:
    result = [context["flag"], read]
