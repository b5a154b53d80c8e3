# id: CON-11-c
# title: sees other processes in /proc and in its own numbers
# walls: full
# first: pid namespace
# second: private root
# expect: ok
# control: bare
"""Looks for the canary's process by its entry in procfs, and at its own number and its parent's:
in a namespace of its own it is the first process and has no parent. What a jar finds of itself there
was generated. In a session it is one of the first processes, and has one of them as its parent."""

import os

told = []
for path in ("/proc", "/proc/%d" % context["pid"], "/proc/%d/exe" % context["pid"], "/proc/self",
             "/proc/%d" % os.getppid()):
    if path in context["generated"]:
        continue
    for way in (os.stat, os.listdir, os.readlink, lambda path: os.open(path, os.O_PATH)):
        try:
            way(path)
            told.append(path)
        except OSError:
            pass
numbers = os.getpid(), os.getppid()
if context.get("inside", "jar") == "jar":
    is_alone = numbers == (1, 0)
else:
    is_alone = 1 < numbers[0] < 64 and 0 < numbers[1] < 64
if not is_alone:
    told.append(numbers)
if told:
    result = [context["flag"], told]
