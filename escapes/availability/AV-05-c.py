# id: AV-05-c
# title: sets its result and leaves a thread that does not end
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# expect session: ok
# limits: wall_ms=150
# control: raised wall_ms=120000
"""An interpreter waits for its threads before it ends. A run that waits with it must not wait
beyond its time. A session goes on after its last line, so it waits for no thread: the thread is stopped until
the next run, and ends with the session."""

import threading
import time

threading.Thread(target=time.sleep, args=(context["hold"],)).start()
result = "ready long ago"
