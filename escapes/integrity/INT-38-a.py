# id: INT-38-a
# title: leaves hard links to files of the host, to be collected
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A hard link is a plain file: whoever collects it cannot see where else it has a name."""

import os

targets = [(context["secret_file"], context["folder"])]
targets += [(target, os.getcwd()) for target in
            (context["secret_file"], os.__file__, "/etc/passwd", "/proc/self/environ", "/dev/null")]
for target, place in targets:
    name = os.path.join(place, "linked-" + os.path.basename(target))
    try:
        os.link(target, name)
    except OSError:
        continue
    break
