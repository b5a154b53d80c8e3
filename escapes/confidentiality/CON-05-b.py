# id: CON-05-b
# title: swaps a file for a link to the host while it is opened
# walls: full nested
# first: private root
# second: landlock
# expect: ok
# control: bare
"""A second thread exchanges a harmless file and a link to the canary without pause. A check that
is made before the opening would be passed with one and followed by the other."""

import os
import threading
import time

found = set()
over = threading.Event()


def swap():
    while not over.is_set():
        for kind in ("file", "link"):
            try:
                if kind == "file":
                    open("fresh", "w").close()
                else:
                    os.symlink(context["secret_file"], "fresh")
                os.rename("fresh", "x")
            except OSError:
                pass


open("x", "w").close()
thread = threading.Thread(target=swap)
thread.start()
tries = 0
while tries < 4000 and not found:
    tries += 1
    # Two threads that hand one lock to and fro can fall into step and never meet: each try waits for
    # another number of turns.
    for _ in range(tries % 7):
        time.sleep(0)
    try:
        with open("x") as file:
            text = file.read()
        if text:
            found.add(text)
    except OSError:
        pass
over.set()
thread.join()
for name in ("x", "fresh"):
    if os.path.lexists(name):
        os.unlink(name)
result = [tries, sorted(found)]
