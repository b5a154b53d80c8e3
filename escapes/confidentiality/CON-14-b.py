# id: CON-14-b
# title: reads what /sys tells about the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Devices, processors, cgroups and kernel notes of the host, and the same through file systems that
are sometimes mounted beside it."""

import os

names = """/sys/kernel/notes /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/uevent_seqnum
/sys/devices/system/cpu/online /sys/devices/system/cpu/vulnerabilities/meltdown
/sys/devices/system/node/online /sys/module/kernel/parameters/panic /sys/power/state
/sys/class/net/lo/address /sys/class/dmi/id/sys_vendor /sys/fs/cgroup/cgroup.controllers
/sys/fs/cgroup/cpu.stat /sys/kernel/security/lsm /sys/kernel/debug/version
/sys/kernel/tracing/available_tracers /sys/firmware/acpi/tables/DSDT /sys/hypervisor/type
/sys/kernel/vmcoreinfo /sys/kernel/btf/vmlinux /sys/block/vda/size /sys/kernel/profiling""".split()
read = []
for name in names:
    try:
        if os.read(os.open(name, os.O_RDONLY | os.O_NONBLOCK), 16):
            read += {name} - set(context["generated"])
    except OSError:
        pass
for place in ("/sys", "/sys/class", "/sys/class/net", "/sys/fs/cgroup", "/sys/kernel"):
    try:
        there = {place + "/" + name for name in os.listdir(place)}
        read += there - set(context["generated"])
    except OSError:
        pass
if read:
    result = [context["flag"], read]
