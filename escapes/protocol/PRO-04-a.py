# id: PRO-04-a
# title: answers with ten million empty values
# walls: full nested
# first: engine count
# second: frames
# expect: limit result_bytes
# limits: memory_bytes=536870912
# control: none: an answer is only understood by the engine
"""A few bytes each on the wire can be many each in memory."""

import os

body = b'{"done":{"result":[' + b"0," * 10_000_000 + b"0]}}"
whole = memoryview(len(body).to_bytes(4, "big") + body)
while whole:
    whole = whole[os.write(4, whole) :]
os._exit(0)
