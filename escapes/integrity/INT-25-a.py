# id: INT-25-a
# title: leaves its control group
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Looks for the files of control groups: to move itself, to kill siblings, to name a program that
the host starts when a group is empty."""

import os

result = None
paths = ["/proc/self/cgroup", "/proc/1/cgroup", "/proc/self/mountinfo", "/proc/cgroups"]
for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory", "/cgroup"):
    paths += [os.path.join(root, name) for name in ("cgroup.procs", "cgroup.kill", "release_agent",
              "notify_on_release", "cgroup.subtree_control", "memory.max", "tasks")]
for path in paths:
    for flags in (os.O_RDONLY, os.O_WRONLY):
        try:
            known = flags == os.O_RDONLY and path.replace("self", "1") in context["generated"]
            if result is None and not known:
                os.close(os.open(path, flags))
                result = context["flag"]
        except OSError:
            pass
