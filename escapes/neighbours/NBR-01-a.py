# id: NBR-01-a
# title: starts and ends threads without pause
# walls: full nested
# first: engine count
# second: engine clock
# expect: limit wall_ms
# limits: wall_ms=500 denials=1000000000
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
"""Each start is a call that the engine must grant."""

import _thread

while True:
    try:
        _thread.start_new_thread(int, ())
    except RuntimeError:
        pass
