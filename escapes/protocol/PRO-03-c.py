# id: PRO-03-c
# title: ends in the middle of a frame
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: an answer is only understood by the engine
"""Half a length and half a body are no answer, and are named as what they are."""

import os

os.write(4, b"\0\0")
os._exit(0)
# ---
import os

os.write(4, b'\0\0\0\x40{"done":{"result":"')
os._exit(0)
