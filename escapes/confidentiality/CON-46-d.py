# id: CON-46-d
# title: learns who has an account on the host
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A jar has a user of its own in its list of users. The accounts of the host, their homes and
their shells are not in it."""

import grp
import os
import pwd


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


names = {entry.pw_name for entry in pwd.getpwall()} | {entry.gr_name for entry in grp.getgrall()}
for text in texts("/etc/passwd", "/etc/group", "/etc/subuid", "/etc/shadow", "/etc/nsswitch.conf"):
    names |= {line.split(":")[0] for line in text.splitlines()}
found = sorted(names & set(context["host"]["users"]))
if found:
    result = [context["flag"], found]
