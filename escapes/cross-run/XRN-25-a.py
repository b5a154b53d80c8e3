# id: XRN-25-a
# title: is ended by the clock with everything open, and the next run looks for the remains
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms | ok
# limits: wall_ms=900
# control: none: a plain process has no engine that would end it
"""A run that was cut off must leave no more behind than one that ended by itself."""

import builtins
import os
import random
import time

mark = f"left-{context['number']}"
builtins.carboy_mark = 1
random.seed(context["number"])
os.mkdir("a")
for place in (".", "a", "/tmp", os.environ["TMPDIR"]):
    try:
        open(os.path.join(place, mark), "w").write("x" * 100_000)
    except OSError:
        pass
os.chdir("a")
os.write(4, b"\0\0\1\0half an answer")
while True:
    os.write(1, b".")
    time.sleep(0.05)
# ---
import builtins
import os
import random

mark = f"left-{context['number']}"
checks = [
    hasattr(builtins, "carboy_mark"),
    random.random() == random.Random(context["number"]).random(),
    os.listdir(".") != [],
    os.listdir(os.environ["TMPDIR"]) != [],
]
checks += [os.path.exists(os.path.join(place, mark)) for place in (".", "a", "/tmp")]
if any(checks):
    result = context["flag"]
