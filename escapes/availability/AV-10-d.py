# id: AV-10-d
# title: asks for threads again and again though none is granted
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit denials
# limits: threads=0 denials=200
# control: raised denials=100000
"""Each attempt goes to the engine and back. A program that never takes no for an answer must not
be able to keep the engine busy for as long as it likes."""

import _thread

refused = 0
for _ in range(1_000):
    try:
        _thread.start_new_thread(int, ())
    except RuntimeError:
        refused += 1
result = refused
