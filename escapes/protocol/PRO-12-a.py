# id: PRO-12-a
# title: sends the messages of an engine
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""Ready, ended, a limit, a cancellation: a jar has no say in these."""

import os

body = b'{"ready":{}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"ended":{"jar":1,"code":0,"signal":null,"cpu_us":0,"peak_memory_bytes":0}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"limit":{"name":"wall_ms","allowed":1}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"cancelled":{}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"job":{"code":"result = 1","context":null}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
