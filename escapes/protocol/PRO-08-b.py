# id: PRO-08-b
# title: sends bytes that are no text
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""Stray bytes, overlong forms, coded surrogates, a mark of byte order, a bare control character."""

import os

body = b'{"done":{"result":"\xff%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":"\xc0\xaf%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":"\xed\xa0\x80%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'\xef\xbb\xbf{"done":{"result":"%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":"\0%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":"\\udead%s"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
