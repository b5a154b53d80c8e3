# id: INT-16-a
# title: sets variables of the environment that decide how programs start
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""If the environment of a jar reached the engine, the zygote or a later jar, it would load what it
names."""

import ctypes
import os
import tempfile

libc = ctypes.CDLL(None)
names = """LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PYTHONPATH PYTHONSTARTUP PYTHONINSPECT PYTHONHOME
    GCONV_PATH MALLOC_PERTURB_ BASH_ENV ENV IFS PATH CARBOY CARBOY_POLICY TMPDIR HOME
    BJ_KEPT""".split()
for name in names:
    libc.setenv(name.encode(), context["flag"].encode(), 1)
    os.environ[name] = context["flag"]
tempfile.tempdir = context["flag"]
# ---
import os

result = [name for name, value in os.environ.items() if value == context["flag"]]
if result:
    result.append(context["flag"])
