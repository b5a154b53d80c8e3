# title: a pool of threads with the interface of processes
# expect: ok
# check: result == [1, 4, 9]
# agent: refuse
from multiprocessing.dummy import Pool

with Pool(3) as pool:
    result = pool.map(lambda x: x * x, [1, 2, 3])
