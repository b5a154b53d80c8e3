# id: AV-21-a
# title: answers with a value that nests deeper than a stack is long
# walls: full nested
# first: frames
# second: engine count
# expect: limit result_depth
# control: none: how deep a result may nest is fixed
"""Whoever reads it by calling itself once for each level runs out of stack. It is sent as text, so
that no encoder stands in the way."""

import os

body = b'{"done":{"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
frame = len(body).to_bytes(4, "big") + body
while frame:
    frame = frame[os.write(4, frame) :]
