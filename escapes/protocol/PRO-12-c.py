# id: PRO-12-c
# title: sends messages of two kinds at once, of no kind, and of a future kind
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""What is not exactly one known message is none."""

import os

text = '{"done":{"result":"%s"},"failed":{"type":"E","message":"m"}}' % context["flag"]
body = text.encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

os.write(4, b"\0\0\0\2{}")
os._exit(0)
# ---
import os

body = b'{"done_v2":{"result":"%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'["done",{"result":"%s"}]' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'"ready"'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"bad_result":{"fault":"limit","detail":"%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
