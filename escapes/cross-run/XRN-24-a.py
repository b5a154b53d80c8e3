# id: XRN-24-a
# title: reads the load of the machine to sense its neighbours
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Counters of the whole machine would tell when others run, and how much they do. A jar finds some of
them, generated: they must not move while it works."""

import ctypes
import os
import time

paths = ["loadavg", "stat", "meminfo", "pressure/cpu", "diskstats", "interrupts", "vmstat"]
paths = ["/proc/" + path for path in paths]
paths += ["/sys/fs/cgroup/cpu.stat", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq"]


def counters():
    for path in paths:
        try:
            yield open(path).read()
        except OSError:
            yield ""
    try:
        yield os.getloadavg()
    except OSError:
        yield ""


before = list(counters())
busy_until = time.process_time() + 0.3
while time.process_time() < busy_until:
    time.sleep(0)
if before != list(counters()):
    result = context["flag"]
if ctypes.CDLL(None).sysinfo(ctypes.create_string_buffer(256)) == 0:
    result = context["flag"]
