# id: PRO-01
# title: prints a perfect answer to both streams and then raises
# walls: full nested
# first: descriptors
# second: frames
# expect: exception
# control: none: an answer is only understood by the engine
"""Output is text. Whatever it looks like, it must not become the answer."""

import os
import sys

body = b'{"done":{"result":"forged"}}'
whole = len(body).to_bytes(4, "big") + body
for fd in (1, 2):
    os.write(fd, whole)
    os.write(fd, b'\n{"status":"ok","result":"forged","error":null}\n')
print('{"done":{"result":"forged"}}', file=sys.stderr, flush=True)
raise ValueError("the truth")
