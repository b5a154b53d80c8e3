"""Fork and run, with no walls: the same interpreter, warm, with the same job, as the ceiling.

Takes JSON on the command line: code, runs, callers, preload. Prints JSON: the time of each run in
milliseconds until its answer was read, and how many runs a second went through in all.
"""

import gc
import importlib
import json
import os
import select
import sys
import time

asked = json.loads(sys.argv[1])
for name in asked["preload"]:
    importlib.import_module(name)
code = asked["code"]
space = {}
exec(compile(code, "job.py", "exec"), space)
json.dumps(space["result"])
gc.collect()
gc.freeze()


def start():
    """Forks, and runs the job in the child."""
    reader, writer = os.pipe()
    began = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        space = {"context": None}
        exec(compile(code, "job.py", "exec"), space)
        os.write(writer, json.dumps({"done": {"result": space["result"]}}).encode())
        os._exit(0)
    os.close(writer)
    return reader, pid, began


def answer(run):
    """Waits for the answer of a child. How long it took, and its process id."""
    reader, pid, began = run
    body = os.read(reader, 65536)
    took = (time.perf_counter() - began) * 1e3
    assert body, "no answer"
    os.close(reader)
    return took, pid


samples = []
began = time.perf_counter()
running = {}
todo = asked["runs"]
while todo or running:
    while todo and len(running) < asked["callers"]:
        run = start()
        running[run[0]] = run
        todo -= 1
    for reader in select.select(list(running), [], [])[0]:
        took, pid = answer(running.pop(reader))
        samples.append(took)
        os.waitpid(pid, 0)
seconds = time.perf_counter() - began
print(json.dumps({"samples": samples, "runs_per_s": asked["runs"] / seconds}))
