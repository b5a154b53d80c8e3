# id: PRO-22-a
# title: writes its answer byte by byte, and in pieces that cut through the length
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""However a stream is cut, it says the same."""

import os

body = b'{"done":{"result":"' + "\u00e9\u20ac".encode() * 300 + b'"}}'
for byte in len(body).to_bytes(4, "big") + body:
    os.write(4, bytes([byte]))
os._exit(0)
# ---
import os
import time

body = b'{"done":{"result":"whole"}}'
whole = len(body).to_bytes(4, "big") + body
for start, end in ((0, 1), (1, 3), (3, 5), (5, 20), (20, len(whole))):
    os.write(4, whole[start:end])
    time.sleep(0.05)
os._exit(0)
