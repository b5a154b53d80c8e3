# id: AV-05-d
# title: raises and holds the exception up in a finally block
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""The way out of the program leads through blocks that do not end."""

import sys
import time

try:
    try:
        sys.exit(0)
    finally:
        end = time.monotonic() + context["hold"]
        while time.monotonic() < end:
            pass
finally:
    result = "left at last"
