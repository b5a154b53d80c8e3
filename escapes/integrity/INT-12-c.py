# id: INT-12-c
# title: makes directories and links instead of files
# walls: full nested
# first: memory file system
# second: engine measure
# expect: exception | limit files
# limits: files=300
# control: raised files=5000
"""A count that looks only at regular files would miss them."""

import os
import tempfile
import time

for number in range(500):
    os.mkdir("d%d" % number)
    os.symlink("x", os.path.join(tempfile.gettempdir(), "l%d" % number))
    os.symlink("x", "d%d/l" % number)
time.sleep(context["hold"])
result = number
