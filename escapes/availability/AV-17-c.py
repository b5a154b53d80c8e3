# id: AV-17-c
# title: prints broken text that is cut within a character
# walls: full nested
# first: engine count
# second: frames
# expect: limit printed_bytes
# limits: printed_bytes=1001
# control: raised printed_bytes=1000000
"""Bytes that are no text, half characters, and a limit that falls between the bytes of one: the
outcome must be text all the same."""

import os

os.write(1, b"\xff\xfe\xc3")
os.write(2, b"\xed\xa0\x80\xf5\x00\x1b]0;x\x07")
os.write(1, b"\xf0\x9f")
os.write(1, b"\x98\x80" * 3)
for _ in range(2_000):
    os.write(1, b"\xe2\x82\xac")
result = "broken"
