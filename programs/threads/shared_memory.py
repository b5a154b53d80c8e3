# title: a block of shared memory in one process
# expect: ok
# check: result == 7
# agent: refuse
from multiprocessing import shared_memory

s = shared_memory.SharedMemory(create=True, size=100)
s.buf[0] = 7
result = s.buf[0]
s.close()
s.unlink()
