# id: AV-22-e
# title: raises an exception with notes without number and a lying type
# walls: full nested
# first: frames
# second: engine clock
# expect: exception
# control: none: it ends as an exception under any limits
"""Notes are added to a traceback; the type's name, the line and the number of the error are asked
for, and each of them lies."""


class Type(type):
    __name__ = property(lambda cls: ["no", "text"])


class Lies(OSError, metaclass=Type):
    errno = property(lambda self: 2**80)
    filename = property(lambda self: 1 / 0)
    __notes__ = ["note " * 1_000] * 2_000

    def __str__(self):
        raise SystemExit(0)


raise Lies(2**70, "lie")
