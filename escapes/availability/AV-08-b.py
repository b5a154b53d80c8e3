# id: AV-08-b
# title: doubles a list until it is too much
# walls: full nested
# first: engine count
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=536870912
"""The list grows in large steps, and the old and the new one exist for a moment together."""

items = [0]
while len(items) < 12_000_000:
    items = items + items
result = len(items)
