# id: INT-26-d
# title: executes the loader and the interpreter
# walls: full nested
# first: seccomp
# second: landlock
# expect: ok
# denies: execve
# control: bare
"""The loader of the system starts any file it can read; the interpreter is readable."""

import os
import sys

code = "print(open(%r).read())" % context["secret_file"]
run = os.path.join(context["folder"], "run.sh")
for path, rest in (
    (sys.executable, ["-c", code]),
    ("/lib64/ld-linux-x86-64.so.2", [sys.executable, "-c", code]),
    ("/usr/lib64/ld-linux-x86-64.so.2", [sys.executable, "-c", code]),
    (run, []),
    ("/bin/sh", [run]),
    ("/usr/bin/env", ["sh", run]),
    ("/proc/self/exe", ["-c", code]),
):
    try:
        os.execve(path, [path, *rest], {})
    except OSError:
        pass
