# id: PRO-20-a
# title: prints what commands a terminal
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: a terminal is only commanded by the command line
"""Titles, clipboards, cleared screens and painted-over lines, on both streams and in the result."""

import sys

text = "\x1b]0;title\x07\x1b]52;c;Zm9yZ2Vk\x07\x1b[2J\x1b[H\r\b\b\x07\x9b31m\x1bP\x1b\\\u202e\u200b"
print(text, flush=True)
print(text, file=sys.stderr, flush=True)
sys.stdout.buffer.write(b"\x9b2J\x90\x9d0;x\x9c\x1b" + b"\xe2\x80")
sys.stdout.buffer.flush()
result = [text, {text: text}]
