# id: PRO-23-d
# title: names a file of the host in a display
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: a display is only understood by the engine
"""A display has a media type and data, and nothing else."""

import os


def send(text):
    body = text.encode()
    whole = len(body).to_bytes(4, "big") + body
    while whole:
        whole = whole[os.write(4, whole) :]


send("{\"display\":{\"media_type\":\"text/html\",\"data\":\"\",\"artifact\":\"/etc/passwd\"}}")
while True:
    pass
