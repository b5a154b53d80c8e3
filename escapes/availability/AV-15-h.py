# id: AV-15-h
# title: keeps its data in the targets of links
# walls: full nested
# first: memory file system
# second: engine measure
# expect: limit files
# limits: files=100
# control: raised files=5000
"""A link's target can have four thousand bytes. It is no file's content and may be overlooked."""

import os
import time

for number in range(400):
    os.symlink("x" * 4000, f"link{number}")
time.sleep(context["hold"])
result = "four hundred"
