# id: AV-08-a
# title: asks for more memory than it may have in one piece
# walls: full nested
# first: engine count
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""The plainest way to exhaust a machine."""

block = bytearray(100_000_000)
result = len(block)
