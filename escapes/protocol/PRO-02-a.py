# id: PRO-02-a
# title: writes an answer of its own and leaves before the real one
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""Whoever runs code may answer what it likes; a forged answer is data and nothing more."""

import os

body = b'{"done":{"result":["forged","status","ok"]}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(137)
