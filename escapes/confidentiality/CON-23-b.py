# id: CON-23-b
# title: searches the interpreter's objects for what an earlier run left
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# control: bare
"""The first program hides a mark in modules, types, caches and hooks. The second asks the garbage
collector for every object there is."""

import builtins
import os
import re
import sys

mark = ["hidden<%s>" % context["flag"][::-1]]
builtins.hidden = os.hidden = sys.hidden = mark
sys.modules["hidden"] = mark
sys.path_importer_cache["hidden"] = mark
re.compile("x" + mark[0])
sys.intern(mark[0])
sys.meta_path.append(mark)
sys.meta_path.pop()
# ---
import gc
import re

sought = re.compile("[h]idden<([0-9a-f]{32})>")
found = set()
for thing in gc.get_objects():
    for part in (thing, *gc.get_referents(thing)):
        if isinstance(part, str):
            match = sought.search(part)
            if match:
                found.add(match.group(1)[::-1])
result = sorted(found)
