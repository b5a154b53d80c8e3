# id: AV-21-e
# title: answers with objects that exit, interrupt and raise when they are converted
# walls: full nested
# first: frames
# second: engine clock
# expect: ok
# control: none: the end does not depend on a limit
"""Exceptions of every kind come out of whatever the conversion of a result might call. None of it ends
the run, and what has no JSON form is left out with a note."""

import atexit

KINDS = [SystemExit(0), KeyboardInterrupt(), GeneratorExit(), RecursionError(), MemoryError()]


class Raises(dict):
    def items(self):
        atexit.register(self.items)
        raise KINDS[len(self)]


class Refuses:
    def __repr__(self):
        raise KINDS[0]

    def __getattr__(self, name):
        raise KINDS[1]

    def __iter__(self):
        raise KINDS[2]

    __str__ = __float__ = __int__ = __len__ = __array__ = to_dict = isoformat = model_dump = __repr__


result = [Raises(a=1), Raises(), Refuses()]
