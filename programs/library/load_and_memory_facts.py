# title: load, memory and processors as os tells them
# expect: ok
# check: result["load"] == 3 and result["positive"] and result["same"]
import os

pages = os.sysconf("SC_PHYS_PAGES")
total = pages * os.sysconf("SC_PAGE_SIZE")
result = {
    "load": len([x for x in os.getloadavg() if x >= 0]),
    "positive": 2**20 < total < 2**50,
    "same": len(os.sched_getaffinity(0)) <= os.cpu_count(),
}
