# id: INT-26-f
# title: executes another program from a child process that it may start
# walls: full
# first: seccomp
# second: landlock
# expect: ok
# denies: execve
# limits: processes=16
# control: bare
"""A child process is a copy of the jar behind the same walls. None of the ways to have it start a
program may work, nor the child that shares memory with its parent until it does."""

import ctypes
import os
import subprocess

program = os.path.join(context["folder"], "run.sh")
libc = ctypes.CDLL(None, use_errno=True)
result = []
reader, writer = os.pipe()


def copied():
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        try:
            os.execv(program, [program])
        except OSError:
            os._exit(1)
    os.waitpid(child, 0)


def shared():
    # posix_spawn makes a child with CLONE_VM and CLONE_VFORK
    actions = [(os.POSIX_SPAWN_DUP2, writer, 1)]
    os.waitpid(os.posix_spawn(program, [program], {}, file_actions=actions), 0)


for way in (
    copied,
    shared,
    lambda: result.append(subprocess.run([program], capture_output=True, text=True).stdout),
    lambda: result.append(subprocess.run(program, shell=True, capture_output=True, text=True).stdout),
    lambda: os.system(f"{program} >&{writer}"),
):
    try:
        way()
    except OSError:
        pass
os.close(writer)
result.append(os.read(reader, 4096).decode())
