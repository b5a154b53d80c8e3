# id: INT-30-a
# title: changes its input for the next run
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""The input of a run is data of that run. A change to it must not be seen by another."""

import gc

context["bj_changed"] = context["flag"] + "!"
for thing in gc.get_objects():
    if isinstance(thing, dict) and "secret_file" in thing and "flag" in thing:
        thing["bj_changed"] = context["flag"] + "!"
# ---
result = context.get("bj_changed")
