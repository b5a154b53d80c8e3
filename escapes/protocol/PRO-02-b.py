# id: PRO-02-b
# title: writes an answer of its own and then lets the real one follow
# walls: full nested
# first: frames
# second: none
# expect: ok | crash
# control: none: an answer is only understood by the engine
# repeat: 100
"""Either the first counts, or two answers are none; the second must never replace the first."""

import os

body = b'{"done":{"result":"forged"}}'
os.write(4, len(body).to_bytes(4, "big") + body)
result = context["flag"]
