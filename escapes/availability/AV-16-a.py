# id: AV-16-a
# title: floods standard output
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit printed_bytes
# limits: printed_bytes=50000
# control: raised printed_bytes=4000000
"""Whoever keeps what is printed runs out of memory, or of disk."""

for _ in range(1_000):
    print("x" * 999)
result = "a million"
