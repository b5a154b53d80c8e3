# id: AV-20-a
# title: answers with a text that is too long
# walls: full nested
# first: engine count
# second: frames
# expect: limit result_bytes
# limits: result_bytes=100000
# control: raised result_bytes=16777216
"""The engine keeps a result in memory, so its length is bounded before it is read."""

result = "x" * 4_000_000
