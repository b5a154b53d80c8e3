# title: memory and cores through psutil
# packages: psutil
# expect: ok
# check: result["memory"] > 0 and result["cores"] >= 1 and result["rss"] > 0
import psutil

result = {
    "memory": psutil.virtual_memory().total,
    "cores": psutil.cpu_count(),
    "rss": psutil.Process().memory_info().rss,
}
