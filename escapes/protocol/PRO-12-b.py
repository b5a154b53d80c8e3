# id: PRO-12-b
# title: claims a usage and an isolation beside its result
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""There is no field for these, and a message with other fields is no message."""

import os

body = b'{"done":{"result":"%s","usage":{"cpu_ms":0}}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"done":{"result":"%s"},"isolation":{"tier":"vm"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"failed":{"type":"E","message":"%s","kind":"limit"}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"failed":{"type":"E","message":"%s","denials":[]}}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"status":"ok","result":"%s","denials":[]}' % context["flag"].encode()
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
