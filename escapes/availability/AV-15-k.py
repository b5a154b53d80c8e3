# id: AV-15-k
# title: fills a directory that cannot be listed
# walls: full nested
# first: memory file system
# second: engine measure
# expect: limit file_bytes
# limits: file_bytes=1048576
# control: raised file_bytes=33554432
"""Whoever measures by listing sees nothing in a directory that may only be entered."""

import os
import time

os.mkdir("hidden", 0o300)
os.chdir("hidden")
os.mkdir("deeper", 0o100 | 0o200)
for number in range(20):
    with open(f"deeper/part{number}", "wb") as part:
        part.write(bytes(200_000))
time.sleep(context["hold"])
result = "four megabytes"
