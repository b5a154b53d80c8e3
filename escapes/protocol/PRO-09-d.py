# id: PRO-09-d
# title: answers with objects that misbehave when they are converted
# walls: full nested
# first: frames
# second: none
# expect: ok | limit result_depth | limit memory_bytes
# control: none: an answer is only understood by the engine
"""Conversion runs the guest's own methods: what they return, raise or pretend to be is only ever data."""


class Endless:
    def __repr__(self):
        while True:
            pass


result = Endless()
# ---
class Long:
    def __repr__(self):
        return "\x1b[2J" * 1_000_000


result = [Long()] * 50
# ---
class Array:
    class dtype:
        kind = "f"

    shape = (3,)

    def __getitem__(self, at):
        return self

    def tolist(self):
        return self


Array.__module__, Array.__name__ = "numpy", "ndarray"
result = Array()
# ---
class Leaving:
    def isoformat(self):
        raise SystemExit(3)


Leaving.__module__, Leaving.__name__ = "datetime", "datetime"
result = {"a": Leaving(), Leaving(): 1}
# ---
class Frame:
    shape = (10**18, 10**18)

    def __getattr__(self, name):
        return self

    def __getitem__(self, at):
        return self


Frame.__module__, Frame.__name__ = "pandas", "DataFrame"
result = Frame()
# ---
def count():
    n = 0
    while True:
        n += 1
        yield '"}}{"done":{"result":' + str(n)


result = count()
