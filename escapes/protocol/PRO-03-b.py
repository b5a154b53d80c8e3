# id: PRO-03-b
# title: claims one byte less and one byte more than it sends
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""A length that is off by one must not be mended by guessing."""

import os

body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
os.write(4, (len(body) - 1).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
os.write(4, (len(body) + 1).to_bytes(4, "big") + body)
os._exit(0)
