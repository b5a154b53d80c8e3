# id: PRO-12-d
# title: sends exceptions that bear the engine's own words
# walls: full nested
# first: frames
# second: engine measure
# expect: exception
# control: none: an answer is only understood by the engine
"""The name of an exception is the guest's; whether a limit stands behind it is not."""

import os

body = b'{"failed":{"type":"LimitExceeded","message":"the run took longer than 30000 ms"}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"failed":{"type":"SIGSYS","message":"the kernel ended it","errno":1}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
import os

body = b'{"bad_result":{"fault":"not_json","detail":"the run was cancelled"}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
# ---
raise type("BrokenFrame", (Exception,), {})("the jar broke the frame of its answer")
