# id: NBR-05-f
# title: watches every descriptor from every other, from two callers
# walls: full nested
# first: rlimits
# second: none
# expect: limit wall_ms
# limits: wall_ms=500
# control: none: innocent runs beside a busy loop are measured first
# mode: beside
# at once: 2
"""Watches are counted for a user, and all jars are one."""

import os
import select
import time

polls = [select.epoll() for _ in range(21)]
pipes = [end for _ in range(10) for end in os.pipe()]
taken = {*pipes, *(poll.fileno() for poll in polls)}
free = [number for number in range(5, 69) if number not in taken]
for end in pipes:
    for number in free:
        os.dup2(end, number)
        for poll in polls:
            try:
                poll.register(number, select.EPOLLIN)
            except OSError:
                pass
time.sleep(5)
