# id: AV-27-a
# title: formats a number to an enormous width
# walls: full nested
# first: engine count
# second: rlimits
# expect: limit memory_bytes
# limits: memory_bytes=67108864
# control: raised memory_bytes=1073741824
"""A few characters of source ask for a hundred megabytes of spaces."""

width = 10**8
result = len(f"{1:{width}}")
