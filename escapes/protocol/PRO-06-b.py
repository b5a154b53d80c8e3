# id: PRO-06-b
# title: says the same key of a message twice
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""If two readers took different ones of two equal keys, one would see what the other did not."""

import os

flag = context["flag"].encode()
body = b'{"done":{"result":1,"result":"%s"}}' % flag
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

flag = context["flag"].encode()
body = b'{"done":{"result":1},"done":{"result":"%s"}}' % flag
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

flag = context["flag"].encode()
body = b'{"failed":{"type":"E","message":"one","message":"%s"}}' % flag
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
