# id: AV-15-f
# title: makes directories side by side and one within the other
# walls: full nested
# first: memory file system
# second: engine measure
# expect: limit files
# limits: files=100
# control: raised files=5000
"""Whoever measures or removes such a tree by calling itself needs a deep stack."""

import os
import time

for branch in range(10):
    path = f"branch{branch}"
    os.mkdir(path)
    for _ in range(40):
        path += "/d"
        os.mkdir(path)
time.sleep(context["hold"])
result = "four hundred"
