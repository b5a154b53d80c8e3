# title: the processors that this process may use, as dask asks for them
# packages: psutil
# expect: ok
# check: result >= 1
import psutil

result = len(psutil.Process().cpu_affinity())
