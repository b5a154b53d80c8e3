# id: PRO-23-b
# title: sends ten thousand displays where twenty are allowed
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: a display is only understood by the engine
"""The jar keeps to the bound, so more than that is not what the jar sends."""

import os


def send(text):
    body = text.encode()
    whole = len(body).to_bytes(4, "big") + body
    while whole:
        whole = whole[os.write(4, whole) :]


for number in range(10_000):
    send(f"{{\"display\":{{\"media_type\":\"text/plain\",\"data\":\"{number}\"}}}}")
while True:
    pass
