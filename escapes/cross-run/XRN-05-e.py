# id: XRN-05-e
# title: writes a number into the times of a file that the next run can look at
# walls: full nested
# first: private root
# second: none
# expect: ok
# control: bare
"""Times and modes are a few bytes that would outlive a run, if any shared file took them."""

import os

when = context["number"] % 1_000_000_000
paths = [context["folder"] + "/target.txt", os.__file__, os.path.dirname(os.__file__), "/", "/usr"]
for path in paths:
    try:
        os.utime(path, (when, when))
        if os.stat(path).st_mtime == when:
            break
    except OSError:
        pass
# ---
import os

when = context["number"] % 1_000_000_000
paths = [context["folder"] + "/target.txt", os.__file__, os.path.dirname(os.__file__), "/", "/usr"]
for path in paths:
    try:
        if os.stat(path).st_mtime == when:
            result = context["flag"]
    except OSError:
        pass
