# id: AV-21-e
# title: answers with objects that exit, interrupt and raise when they are written
# walls: full nested
# first: frames
# second: engine clock
# expect: exception
# control: none: the end does not depend on a limit
"""Exceptions of every kind come out of the encoder. The run ends as one that raised."""

import atexit


class Raises(dict):
    def items(self):
        atexit.register(self.items)
        raise [SystemExit(0), KeyboardInterrupt(), GeneratorExit()][len(self)]


result = [Raises(a=1), Raises()]
