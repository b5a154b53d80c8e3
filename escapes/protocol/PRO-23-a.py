# id: PRO-23-a
# title: sends displays that are not what they say
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: a display is only understood by the engine
"""Known media types with other content are left out, and the run goes on."""

import os


def send(text):
    body = text.encode()
    whole = len(body).to_bytes(4, "big") + body
    while whole:
        whole = whole[os.write(4, whole) :]


deep = "[" * 5000 + "]" * 5000
for kind, data in (
    ("image/png", "\"<script>alert(1)</script>\""),
    ("image/png", "\"PHNjcmlwdD4=\""),
    ("image/png", "\"iVBORw0KGgoAAAANSUhEUv//////////CAIAAAA=\""),
    ("image/jpeg", "{}"),
    ("text/html", "[1]"),
    ("application/json", deep),
):
    send(f"{{\"display\":{{\"media_type\":\"{kind}\",\"data\":{data}}}}}")
