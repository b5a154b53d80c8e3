# id: AV-03-b
# title: waits in poll and in epoll for what never comes
# walls: full nested
# first: engine clock
# second: kill by pidfd
# expect: limit wall_ms
# limits: wall_ms=150
# control: raised wall_ms=120000
"""Waiting on a pipe that nobody writes to. A deadline that is counted in processor time, or only
while something is read, would not pass."""

import os
import select

reader, writer = os.pipe()
poll = select.poll()
poll.register(reader, select.POLLIN)
poll.poll(context["hold"] * 500)
epoll = select.epoll()
epoll.register(reader, select.EPOLLIN)
epoll.poll(context["hold"] / 2)
select.select([reader], [], [], 0.1)
result = "nobody wrote"
