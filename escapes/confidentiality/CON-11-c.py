# id: CON-11-c
# title: sees other processes in /proc and in its own numbers
# walls: full
# first: pid namespace
# second: private root
# expect: ok
# control: bare
"""Looks for the canary's process by its entry in procfs, and at its own number and its parent's:
in a namespace of its own it is the first process and has no parent. What a jar finds of itself there
was generated. In a session it is a later process, and has a parent there."""

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
if context.get("inside", "jar") == "jar" and numbers != (1, 0):
    told.append(numbers)
if told:
    result = [context["flag"], told]
