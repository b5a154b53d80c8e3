# id: AV-03-c
# title: waits for a lock that nobody opens
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""The main thread and another one wait for each other in the kernel."""

import threading

never = threading.Event()
other = threading.Thread(target=never.wait, args=(context["hold"],))
other.start()
never.wait(context["hold"])
other.join()
result = "gave up"
