# id: AV-24-f
# title: leaves without an answer
# walls: full nested
# first: fresh fork
# second: pid namespace
# expect: crash
# control: none: leaving is all that is done
"""The process ends with a code of its own and says nothing. That is neither a result nor a
failure of the engine."""

import os

print("about to leave", flush=True)
os._exit(3)
