# id: INT-26-c
# title: executes a program in a child that it was granted
# walls: full
# first: seccomp
# second: landlock
# expect: ok
# denies: execve
# limits: processes=4
# control: bare
"""Children that the policy grants are behind the same filter."""

import os
import subprocess
import time

run = os.path.join(context["folder"], "run.sh")
result = []
try:
    result.append(subprocess.run([run], capture_output=True, text=True, timeout=5).stdout)
except Exception as error:
    result.append(type(error).__name__)
child = os.fork()
if child == 0:
    try:
        os.execv(run, [run])
    finally:
        os._exit(0)
try:
    os.waitpid(child, 0)
except OSError:
    time.sleep(0.3)
