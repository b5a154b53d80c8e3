# id: PRO-05-b
# title: answers exactly as deep as allowed
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""The bound is exact: what it allows can be read by every reader behind the engine."""

result = None
for turn in range(50):
    result = {"a": [result]}
