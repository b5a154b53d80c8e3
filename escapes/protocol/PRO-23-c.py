# id: PRO-23-c
# title: sends a display of a media type of its own
# walls: full nested
# first: frames
# second: none
# expect: crash
# control: none: a display is only understood by the engine
"""The list of media types is closed."""

import os


def send(text):
    body = text.encode()
    whole = len(body).to_bytes(4, "big") + body
    while whole:
        whole = whole[os.write(4, whole) :]


send("{\"display\":{\"media_type\":\"text/javascript\",\"data\":\"alert(1)\"}}")
while True:
    pass
