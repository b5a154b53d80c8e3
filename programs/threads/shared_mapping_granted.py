# title: a child writes to memory that its parent made
# grant: processes=1
# expect: ok
# agent: refuse
# check: result == 42
import mmap
import os

mm = mmap.mmap(-1, 4096)
pid = os.fork()
if pid == 0:
    mm[0] = 42
    os._exit(0)
os.waitpid(pid, 0)
result = mm[0]
