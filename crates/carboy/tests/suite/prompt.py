"""Types at a prompt on a terminal of its own, and waits for what is shown.

Takes JSON on the command line: a command, and steps. A step is text to type and texts that have to come
after it, in this order. Prints how the command ended.
"""

import json
import os
import pty
import select
import sys
import time

asked = json.loads(sys.argv[1])
until = time.monotonic() + 600

child, terminal = pty.fork()
if child == 0:
    os.environ.pop("NO_COLOR", None)
    os.environ["TERM"] = "xterm"
    os.execv(asked["command"][0], asked["command"])

seen = b""


def wait_for(text: bytes, step: object) -> None:
    """Waits until a text is shown. What was shown before it is forgotten."""
    global seen
    while text not in seen:
        left = until - time.monotonic()
        if left <= 0 or not select.select([terminal], [], [], left)[0]:
            sys.exit(f"{text!r} did not come after {step!r}, only {seen!r}")
        try:
            piece = os.read(terminal, 1 << 16)
        except OSError:
            # The other end is closed.
            piece = b""
        if not piece:
            sys.exit(f"it ended before {text!r} came after {step!r}: {seen!r}")
        seen += piece
    seen = seen[seen.index(text) + len(text) :]


for step in asked["steps"]:
    typed, *shown = step
    os.write(terminal, typed.encode())
    for text in shown:
        wait_for(text.encode(), typed)

# It may still have something to show, and would wait for somebody to see it.
while True:
    try:
        if not os.read(terminal, 1 << 16):
            break
    except OSError:
        break
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
