# id: PRO-05-c
# title: nests deep where no result stands
# walls: full nested
# first: frames
# second: none
# expect: crash | limit result_depth
# control: none: an answer is only understood by the engine
"""Depth in a message that is no answer at all, and brackets that are never closed."""

import os

body = b'{"failed":{"type":"E","message":' + b"[" * 90_000 + b"]" * 90_000 + b"}}"
os.set_blocking(4, True)
whole = memoryview(len(body).to_bytes(4, "big") + body)
while whole:
    whole = whole[os.write(4, whole) :]
os._exit(0)
# ---
import os

body = b"[" * 900_000
whole = memoryview(len(body).to_bytes(4, "big") + body)
while whole:
    whole = whole[os.write(4, whole) :]
os._exit(0)
