# title: os.fork where no process is granted
# expect: refuse
# says: threads
import os

pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
