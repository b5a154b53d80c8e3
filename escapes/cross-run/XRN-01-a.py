# id: XRN-01-a
# title: leaves files in every directory it can write and looks for them in the next run
# walls: full nested
# first: mount namespace
# second: landlock
# expect: ok
# control: bare
"""What one run writes must be gone before another starts, wherever it was put."""

import os

mark = f"left-{context['number']}"
places = [context["folder"], ".", "/tmp", "/var/tmp", "/dev/shm", "/run", os.path.expanduser("~")]
for place in places:
    try:
        with open(os.path.join(place, mark), "w") as file:
            file.write(mark)
        # One is enough where nothing hinders it; the next run takes it away again.
        if place == context["folder"]:
            break
    except OSError:
        pass
# ---
import os

mark = f"left-{context['number']}"
places = [context["folder"], ".", "/tmp", "/var/tmp", "/dev/shm", "/run", os.path.expanduser("~")]
for place in places:
    try:
        path = os.path.join(place, mark)
        if open(path).read() == mark:
            result = context["flag"]
        os.unlink(path)
    except OSError:
        pass
