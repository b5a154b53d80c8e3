# id: AV-22-d
# title: raises an exception whose text takes for ever
# walls: full nested
# first: engine clock
# second: rlimits
# expect: limit wall_ms
# limits: wall_ms=150
# control: none: with more time it ends as an exception
"""The text of an exception is asked for when the program is over, and its method is the guest's."""

import time


class Endless(Exception):
    def __str__(self):
        while True:
            try:
                time.sleep(60)
            except BaseException:
                pass


raise Endless
