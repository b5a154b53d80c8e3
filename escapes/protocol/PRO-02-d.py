# id: PRO-02-d
# title: writes two answers at once
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""Two answers in one piece are a broken frame, whichever of them one would like to believe."""

import os

one = b'{"done":{"result":1}}'
two = b'{"done":{"result":"%s"}}' % context["flag"].encode()
os.write(4, b"".join(len(body).to_bytes(4, "big") + body for body in (one, two)))
os._exit(0)
# ---
import os

one = b'{"failed":{"type":"ValueError","message":"one"}}'
two = b'{"done":{"result":"%s"}}' % context["flag"].encode()
os.write(4, b"".join(len(body).to_bytes(4, "big") + body for body in (one, two)))
os._exit(0)
