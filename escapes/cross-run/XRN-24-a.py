# id: XRN-24-a
# title: reads the load of the machine to sense its neighbours
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Counters of the whole machine would tell when others run, and how much they do."""

import ctypes
import os

paths = ["loadavg", "stat", "meminfo", "pressure/cpu", "diskstats", "interrupts", "vmstat"]
paths = ["/proc/" + path for path in paths]
paths += ["/sys/fs/cgroup/cpu.stat", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"]
for path in paths:
    try:
        if open(path).read():
            result = context["flag"]
    except OSError:
        pass
try:
    os.getloadavg()
    result = context["flag"]
except OSError:
    pass
if ctypes.CDLL(None).sysinfo(ctypes.create_string_buffer(256)) == 0:
    result = context["flag"]
