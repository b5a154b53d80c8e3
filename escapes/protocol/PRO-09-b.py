# id: PRO-09-b
# title: answers with objects that JSON does not have
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""Each becomes JSON or bounded text. The name of a type is the guest's own choice."""

result = {"a": b"bytes"}
# ---
result = {1, 2}
# ---
result = {(1, 2): 3}
# ---
result = (number for number in range(3))
# ---
result = type("N" * 1_000_000, (), {})()
# ---
result = type('\x1b[2J"}}\n{"done":{}}', (), {"__repr__": lambda self: 1 / 0})()
# ---
class Angry(dict):
    def items(self):
        raise KeyboardInterrupt("from inside")


result = Angry(a=1)
