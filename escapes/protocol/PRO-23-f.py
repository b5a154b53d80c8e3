# id: PRO-23-f
# title: claims a display of four gibibytes
# walls: full nested
# first: frames
# second: none
# expect: crash | limit result_bytes | limit wall_ms
# control: none: a display is only understood by the engine
"""A length that is claimed is not believed, and nothing is held for it."""

import os


def send(text):
    body = text.encode()
    whole = len(body).to_bytes(4, "big") + body
    while whole:
        whole = whole[os.write(4, whole) :]


os.write(4, b"\xff\xff\xff\xff{\"display\":{\"media_type\":\"text/html\",\"data\":\"")
for _ in range(1 << 14):
    os.write(4, b"A" * (1 << 16))
