# id: AV-24-a
# title: reads from the address zero
# walls: full nested
# first: fresh fork
# second: pid namespace
# expect: crash
# control: none: a crash of its own needs no control
"""The interpreter dies of a segmentation fault. The zygote and the next run must not notice."""

import ctypes

ctypes.string_at(0)
