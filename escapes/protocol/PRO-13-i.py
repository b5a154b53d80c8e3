# id: PRO-13-i
# title: answers by itself and leaves at once, so that nobody sees what it used
# walls: full nested
# first: engine measure
# second: none
# expect: ok
# control: none: usage is only measured by the engine
"""An outcome that shows no memory and no time for a run that used both would be false. The drill
sees the outcome; its test in the suite looks at the numbers."""

import os

held = bytearray(64 << 20)
body = b'{"done":{"result":1}}'
os.write(4, len(body).to_bytes(4, "big") + body)
os._exit(0)
