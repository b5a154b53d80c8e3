"""A bare fork of a process with so much live data, as the ceiling for a branch of a session.

Takes JSON on the command line: megabytes, runs. Prints JSON: the time of each fork in milliseconds
until the child's word was read.
"""

import gc
import json
import os
import sys
import time

asked = json.loads(sys.argv[1])
data = bytearray(b"x") * (asked["megabytes"] << 20)
gc.collect()
gc.freeze()
samples = []
for _ in range(asked["runs"]):
    reader, writer = os.pipe()
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os.write(writer, b"1")
        os._exit(0)
    os.read(reader, 1)
    samples.append((time.perf_counter() - began) * 1e3)
    os.close(reader)
    os.close(writer)
    os.waitpid(pid, 0)
    time.sleep(0.004)
print(json.dumps({"samples": samples}))
