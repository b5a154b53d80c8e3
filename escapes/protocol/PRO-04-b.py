# id: PRO-04-b
# title: packs as many values into a result as its bytes allow
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""Within its bytes a result may hold anything; holding it must cost no more than its bytes."""

import os

inner = b"{}," * 120_000 + b'{"":0,"":0,"":0},' * 20_000
body = b'{"done":{"result":[' + inner + b"null]}}"
whole = memoryview(len(body).to_bytes(4, "big") + body)
while whole:
    whole = whole[os.write(4, whole) :]
os._exit(0)
