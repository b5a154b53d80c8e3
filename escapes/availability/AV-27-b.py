# id: AV-27-b
# title: formats with a width that comes from an argument
# walls: full nested
# first: engine count
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=1073741824
"""The old ways of formatting, for text and for bytes."""

result = len("%*d" % (10**8, 1)) + len(b"%*d" % (10**8, 1))
