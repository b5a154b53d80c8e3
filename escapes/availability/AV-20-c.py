# id: AV-20-c
# title: answers with a dictionary of very many keys
# walls: full nested
# first: engine count
# second: frames
# expect: limit result_bytes
# limits: result_bytes=100000
# control: raised result_bytes=16777216
"""Keys are kept, compared and hashed by whoever reads them."""

result = {f"key{number}": None for number in range(100_000)}
