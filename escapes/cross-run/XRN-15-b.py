# id: XRN-15-b
# title: leaves half an answer for the next run to complete
# walls: full nested
# first: descriptors
# second: frames
# expect: crash
# control: none: the frames of an answer exist only in a jar
"""Two halves from two runs must never become one frame."""

import os

half = len(context["flag"]) // 2
body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
whole = len(body).to_bytes(4, "big") + body
os.write(4, whole[: len(whole) - 3 - half])
os._exit(0)
# ---
import os

half = len(context["flag"]) // 2
body = b'{"done":{"result":"%s"}}' % context["flag"].encode()
whole = len(body).to_bytes(4, "big") + body
os.write(4, whole[len(whole) - 3 - half :])
os._exit(0)
