# id: AV-04-b
# title: handles the signal that announces the end of its processor time
# walls: full nested
# first: rlimits
# second: engine clock
# expect: limit cpu_ms
# limits: cpu_ms=1000
# control: raised cpu_ms=120000 wall_ms=120000
"""The kernel warns a process at its soft limit with SIGXCPU, which can be handled. A process that
goes on must be ended all the same. The limit itself is attacked too."""

import resource
import signal
import time

for number in (signal.SIGXCPU, signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF):
    signal.signal(number, lambda *_: None)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGXCPU])
try:
    resource.setrlimit(resource.RLIMIT_CPU, (3600, 3600))
except (OSError, ValueError):
    pass
while time.process_time() < 1.3:
    pass
result = "used more than it had"
