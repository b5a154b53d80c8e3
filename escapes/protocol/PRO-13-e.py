# id: PRO-13-e
# title: raises the error of too many open files with hardly any open
# walls: full nested
# first: engine measure
# second: none
# expect: exception
# control: none: the cause of an end is only judged by the engine
"""The outcome must not say that more files were open than there were."""

raise OSError(24, "too many open files")
# ---
import os

os.dup2(1, 60)
raise OSError(24, "too many open files")
