# id: XRN-17-b
# title: uses up memory and processor time so that the next run has less
# walls: full nested
# first: fresh fork
# second: none
# expect: ok
# limits: cpu_ms=1000 memory_bytes=134217728
# control: none: without walls there is no allowance that could be shared
"""Two runs that each use most of what they may use must both come to their end."""

import time

held = bytearray(96 << 20)
while time.process_time() < 0.6:
    pass
# ---
import time

try:
    held = bytearray(96 << 20)
except MemoryError:
    result = context["flag"]
while time.process_time() < 0.6:
    pass
