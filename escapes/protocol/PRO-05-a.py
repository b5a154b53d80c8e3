# id: PRO-05-a
# title: answers with lists in lists a hundred thousand deep
# walls: full nested
# first: frames
# second: none
# expect: limit result_depth
# control: none: an answer is only understood by the engine
"""Depth is what breaks readers that recurse, in the engine and behind it."""

import os

body = b'{"done":{"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
whole = memoryview(len(body).to_bytes(4, "big") + body)
while whole:
    whole = whole[os.write(4, whole) :]
os._exit(0)
# ---
result = []
result.append(result)
# ---
result = None
for turn in range(5000):
    result = {"a": [result]}
# ---
result = None
for turn in range(101):
    result = [result]
