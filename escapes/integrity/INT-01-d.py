# id: INT-01-d
# title: writes into the interpreter and the libraries that it may read
# walls: full nested
# first: mount namespace
# second: landlock
# expect: ok
# control: bare
"""The listed trees are shared with the host and with every later jar. One open for writing would
change them for all."""

import os
import sys
import sysconfig

paths = sysconfig.get_paths()
roots = [context["folder"], paths["stdlib"], paths["purelib"], paths["platlib"], sys.prefix,
         os.path.join(sys.prefix, "bin"), "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/lib64",
         "/usr/share/zoneinfo", "/etc", "/carboy", "/dev", "/"]
files = [os.__file__, sys.executable, "/etc/ld.so.cache", "/carboy/zygote.so",
         "/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/share/zoneinfo/UTC"]
result = None


def tries(root):
    probe = os.path.join(root, "carboy-probe")
    for make, undo in ((lambda: open(probe, "x").close(), os.unlink), (lambda: os.mkdir(probe),
                       os.rmdir), (lambda: os.symlink("x", probe), os.unlink)):
        try:
            make()
            undo(probe)
            return True
        except OSError:
            pass
    return False


for root in roots:
    if tries(root):
        result = context["flag"]
        break
else:
    for path in files:
        try:
            os.close(os.open(path, os.O_RDWR))
            result = context["flag"]
        except OSError:
            pass
