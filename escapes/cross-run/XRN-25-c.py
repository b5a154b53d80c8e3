# id: XRN-25-c
# title: is ended for its output, and the next run must have only its own
# walls: full nested
# first: engine count
# second: kill by pidfd
# expect: limit printed_bytes | ok
# limits: printed_bytes=5000
# control: none: a plain process has no engine that would end it
"""What was still in the pipes when a run was ended must not flow into another outcome."""

import os

text = b"y" * 4096
while True:
    os.write(1, text)
    os.write(2, text)
# ---
import sys

# Exactly what is allowed: one foreign byte more would be too much.
sys.stdout.write("z" * 3000)
sys.stderr.write("z" * 2000)
