# id: CON-46-c
# title: learns the host's name, when it was started and what it is
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Name, boot time, boot id and machine id identify a host over time. What is told instead was
generated."""

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


host = context["host"]
wanted = [host["boot"], host["machine"]]
if host["name"] not in ("jar", "localhost"):
    wanted.append(host["name"])
seen = texts("/etc/hostname", "/etc/hosts", "/etc/machine-id", "/etc/os-release", "/proc/stat",
             "/proc/cmdline", "/proc/sys/kernel", "/proc/uptime")
found = [word for text in seen for word in wanted if word and word in text.split()]
if found:
    result = [context["flag"], found]
