# id: PRO-07-b
# title: forges numbers that JSON or its readers do not have
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""What Python's own reader takes for a number, or turns into an infinity, is none for the engine."""

import os

body = b'{"done":{"result":[NaN,"%s"]}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":[-Infinity,0x10,"%s"]}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":[01,1.,+1,"%s"]}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":[1e400]}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":[-1.5E+999]}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":[' + b"7" * 50_000 + b"]}}"
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
