# id: AV-20-b
# title: answers with a list of very many items
# walls: full nested
# first: engine count
# second: frames
# expect: limit result_bytes
# limits: result_bytes=100000
# control: raised result_bytes=16777216
"""Little text for each item, but much memory for whoever makes objects of them."""

result = [0] * 1_000_000
