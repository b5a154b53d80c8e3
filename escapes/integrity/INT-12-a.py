# id: INT-12-a
# title: leaves more files than it may
# walls: full nested
# first: memory file system
# second: engine measure
# expect: exception | limit files
# limits: files=300
# control: raised files=5000
"""A listing of very many artifacts costs the engine time and memory."""

import time

for number in range(3000):
    open("f%d" % number, "w").close()
time.sleep(context["hold"])
result = number
