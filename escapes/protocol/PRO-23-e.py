# id: PRO-23-e
# title: sends a display after its answer
# walls: full nested
# first: frames
# second: none
# expect: ok | crash
# control: none: a display is only understood by the engine
"""What comes after the answer is lost, or shows that the answer is none."""

import os


def send(text):
    body = text.encode()
    whole = len(body).to_bytes(4, "big") + body
    while whole:
        whole = whole[os.write(4, whole) :]


send("{\"done\":{}}")
send("{\"display\":{\"media_type\":\"text/plain\",\"data\":\"late\"}}")
os._exit(0)
