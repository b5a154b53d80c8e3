# id: XRN-01-b
# title: walks the directories beside its own while a neighbour keeps a file in its own
# walls: full nested
# first: mount namespace
# second: landlock
# expect: ok
# control: bare
# mode: together
"""Two jars at once must not see each other's working directory, whatever it is called."""

import os
import time

kept = f"kept-{context['number']}"
spots = [context["folder"], os.getcwd(), "/tmp"]
for spot in spots:
    try:
        with open(os.path.join(spot, kept), "w") as kept_file:
            kept_file.write(kept)
        if spot == context["folder"]:
            break
    except OSError:
        pass
time.sleep(1.5)
for spot in spots:
    try:
        os.unlink(os.path.join(spot, kept))
    except OSError:
        pass
# ---
import os
import time

wanted = f"kept-{context['number']}"
here = os.getcwd()
starts = [context["folder"], os.path.dirname(here), os.path.dirname(os.path.dirname(here))]
starts += ["/tmp", "/proc/1/cwd", "/proc/1/root/jar", "/var/tmp", "/run"]
until = time.monotonic() + 1.2
result = None
while time.monotonic() < until and result is None:
    for start in starts:
        try:
            # Not deep: the directories of the jars stand side by side.
            names = [start] + [entry.path for entry in os.scandir(start)]
        except OSError:
            continue
        for name in names:
            try:
                if open(os.path.join(name, wanted)).read() == wanted:
                    result = context["flag"]
            except OSError:
                pass
    time.sleep(0.1)
