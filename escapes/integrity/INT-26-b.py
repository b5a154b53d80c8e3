# id: INT-26-b
# title: starts programs with everything the library offers
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: execve
# control: bare
"""subprocess with each of its ways to start, os.system, os.popen and posix_spawn."""

import os
import subprocess

run = os.path.join(context["folder"], "run.sh")


def spawned(spawn):
    read, write = os.pipe()
    os.waitpid(spawn(run, [run], {}, file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)]), 0)
    os.close(write)
    return os.read(read, 1000).decode()


ways = [
    lambda: subprocess.run([run], capture_output=True, text=True).stdout,
    lambda: subprocess.run([run], stdout=-1, text=True, close_fds=False).stdout,
    lambda: subprocess.run([run], stdout=-1, text=True, preexec_fn=lambda: None).stdout,
    lambda: os.popen(run).read(),
    lambda: os.system(run),
    lambda: spawned(os.posix_spawn),
    lambda: spawned(os.posix_spawnp),
]
result = []
for way in ways:
    try:
        result.append(way())
    except Exception as error:
        result.append(type(error).__name__)
