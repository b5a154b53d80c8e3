# title: reads how much memory there is
# expect: ok
# check: result > 0
with open("/proc/meminfo") as f:
    facts = dict(line.split(":", 1) for line in f)
result = int(facts["MemTotal"].split()[0])
