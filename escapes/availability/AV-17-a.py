# id: AV-17-a
# title: prints one line that does not end
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit printed_bytes
# limits: printed_bytes=100000
# control: raised printed_bytes=8000000
"""Whoever reads line by line keeps all of it before it sees how long it is."""

import sys

sys.stdout.write("x" * 3_000_000)
sys.stdout.flush()
result = "no newline"
