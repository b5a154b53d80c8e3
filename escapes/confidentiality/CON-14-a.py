# id: CON-14-a
# title: reads what /proc tells about the kernel and the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Addresses of the kernel, keys, load, memory, mounts: some help to attack it, some tell what else
the host is doing."""

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
            read.append(name)
    except OSError:
        pass
try:
    read.append(os.getloadavg())
except OSError:
    pass
if read:
    result = [context["flag"], read]
