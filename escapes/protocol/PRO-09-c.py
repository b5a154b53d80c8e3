# id: PRO-09-c
# title: answers with a list that never ends
# walls: full nested
# first: rlimits
# second: engine clock
# expect: limit memory_bytes | limit result_bytes | limit wall_ms | limit cpu_ms
# limits: wall_ms=5000 memory_bytes=67108864
# control: none: without limits it would eat the machine
"""An iterator without an end is turned into text in the jar, on the jar's account."""


class Endless(list):
    def __iter__(self):
        while True:
            yield 7


result = Endless([1])
