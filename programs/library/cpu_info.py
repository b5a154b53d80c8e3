# title: counts processors in /proc
# expect: ok
# check: result >= 1
with open("/proc/cpuinfo") as f:
    result = f.read().count("processor")
