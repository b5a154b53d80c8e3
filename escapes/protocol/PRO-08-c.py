# id: PRO-08-c
# title: leaves files whose names are no text
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: names of files are only read by the engine
"""The engine lists what is left, and names are bytes that the guest chose."""

import os

names = [b"\xff\xfe", b"line\nbreak", b"\x1b]0;title\x07", b"-rf", b"\xe2\x80\xaegpj", b"n" * 255]
names += [b"%s%n{}", b"\xed\xa0\x80", b'"}],"status":"error"', b"a\\..\\b", b" ", b"\xc2\x9b31m"]
for name in names:
    os.close(os.open(name, os.O_CREAT | os.O_WRONLY, 0o600))
    os.mkdir(b"d" + name[:200])
print("\u2028\0\u0301" * 5000)
result = "\0\u2028\u2029\ufeff\u202e" + "\u0301" * 50_000
