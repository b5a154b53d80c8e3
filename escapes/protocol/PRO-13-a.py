# id: PRO-13-a
# title: leaves with the exit codes of a timeout, a kill and a violation
# walls: full nested
# first: engine measure
# second: none
# expect: crash
# control: none: an exit code is only judged by the engine
"""Shells and containers read causes out of such codes. The engine must not."""

import os

os._exit(0)
# ---
import os

os._exit(124)
# ---
import os

os._exit(137)
# ---
import os

os._exit(159)
# ---
import os

os._exit(3)
