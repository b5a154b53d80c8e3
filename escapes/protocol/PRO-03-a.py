# id: PRO-03-a
# title: claims lengths that no frame has
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""The largest length, none at all, and a negative one: no room may be made for a claim."""

import os

os.write(4, b"\xff\xff\xff\xff")
os._exit(0)
# ---
import os

os.write(4, b"\0\0\0\0")
os._exit(0)
# ---
import os

body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
os.write(4, (-len(body) & 0xFFFFFFFF).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

# The right length in the wrong order of bytes.
body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "little") + body)
os._exit(0)
