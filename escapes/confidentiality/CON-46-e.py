# id: CON-46-e
# title: learns what is mounted on the host, and from which disks
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Tables of mounts show the host's disks and paths, and those of its containers. A jar's table
is generated and names its own directories."""

import os


def texts(*spots):
    for spot in spots:
        try:
            yield open(spot, errors="replace").read()
        except OSError:
            pass
        for folder, _, names in os.walk(spot):
            for name in names:
                try:
                    yield open(os.path.join(folder, name), errors="replace").read(100_000)
                except OSError:
                    pass


seen = texts("/etc/mtab", "/etc/fstab", "/proc/mounts", "/proc/self/mounts", "/proc/self/mountinfo",
             "/proc/1/mountinfo", "/proc/partitions", "/proc/diskstats", "/proc/filesystems",
             "/proc/self/cgroup")
known = set(context["host"]["mounts"])
found = [line for text in seen for line in text.splitlines() if line in known]
if found:
    result = [context["flag"], found]
