# id: INT-16-b
# title: writes the files that decide how programs start
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The loader, the shells and the interpreter read files before they do anything else."""

import os
import sys

home = os.path.expanduser("~root")
paths = [os.path.join(context["folder"], "target.txt"), "/etc/ld.so.preload", "/etc/ld.so.cache",
         "/etc/environment", "/etc/profile", "/etc/ld.so.conf", "/etc/hosts", "/etc/resolv.conf",
         "/etc/passwd", "/etc/sudoers", "/etc/crontab", "/etc/nsswitch.conf", home + "/.bashrc",
         home + "/.profile", home + "/.ssh/authorized_keys", home + "/.pythonrc",
         os.path.join(sys.prefix, "pyvenv.cfg"), sys.executable + "._pth",
         "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe",
         "/sys/kernel/uevent_helper", "/proc/self/environ"]
result = None
for path in paths:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        result = context["flag"]
        break
    except OSError:
        pass
