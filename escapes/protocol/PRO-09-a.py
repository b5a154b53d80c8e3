# id: PRO-09-a
# title: answers with objects whose own methods would write the answer
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""Subclasses may lie about themselves, but only as data, and only inside the jar."""


class Number(int):
    def __repr__(self):
        return '1}},"usage":{"cpu_ms":0},"x":{"y":{"z":2'

    __str__ = __repr__


class Real(float):
    __repr__ = Number.__repr__


class Text(str):
    def __str__(self):
        return '"}},"forged":{"'

    encode = __repr__ = __str__


class Map(dict):
    def items(self):
        return [("forged", 1), (Text("other"), Number(2))]

    keys = __iter__ = __len__ = None


result = [Number(1), Real(1.5), Text("text"), Map(real=1), {Text("key"): Number(3)}]
