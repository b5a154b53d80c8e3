# id: PRO-08-a
# title: answers and raises with an unpaired surrogate
# walls: full nested
# first: frames
# second: none
# expect: ok | exception
# control: none: an answer is only understood by the engine
"""Python texts can hold what no text in JSON can: it is written out, in a result as in an error."""

result = ["\ud800", "\udfff"]
# ---
result = {"\ud83d": 1}
# ---
raise ValueError("half \ud800, nothing \0, and \u2028 a line")
# ---
class Odd(type):
    __name__ = property(lambda self: "Odd\ud800\0\n")


class Failure(Exception, metaclass=Odd):
    def __str__(self):
        raise RuntimeError("no text \udfff")


raise Failure()
