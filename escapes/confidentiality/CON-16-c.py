# id: CON-16-c
# title: looks for sockets of services in the directories where they lie
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""Lists the places where container engines, message buses, name services and the engine itself
would keep their sockets."""

import os

seen = []
for place in ("/run", "/var/run", "/run/user", "/run/docker", "/run/containerd", "/run/dbus",
              "/run/systemd", "/run/lock", "/var/lib", "/var/tmp", "/home", "/dev/shm",
              context["folder"], os.path.dirname(context["unix"])):
    try:
        seen += os.listdir(place)
    except OSError:
        pass
    try:
        seen += os.listdir(os.open(place, os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        pass
if seen:
    result = [context["flag"], len(seen)]
