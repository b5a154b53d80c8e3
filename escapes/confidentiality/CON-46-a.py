# id: CON-46-a
# title: learns which processor the host has
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""The files in which libraries look for processors are there, and tell of the policy: neither the
model, nor its revision, nor a frequency may be the host's."""

import os


def texts(*spots):
    for spot in spots:
        try:
            yield open(spot, errors="replace").read()
        except OSError:
            pass
        for folder, _, names in os.walk(spot):
            for name in names:
                try:
                    yield open(os.path.join(folder, name), errors="replace").read(100_000)
                except OSError:
                    pass


model = context["host"]["processor"]
seen = texts("/proc/cpuinfo", "/sys/devices/system/cpu", "/sys/devices/virtual/dmi")
if model and any(model in text for text in seen):
    result = [context["flag"], model]
