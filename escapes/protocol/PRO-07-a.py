# id: PRO-07-a
# title: answers with numbers that JSON does not have
# walls: full nested
# first: frames
# second: none
# expect: ok
# control: none: an answer is only understood by the engine
"""Not a number, infinite, or longer than Python itself will write: null or text, with a note."""

result = float("nan")
# ---
result = {"a": [1, float("-inf")]}
# ---
# Too long to be written out, from 3.11 on; a type that is not JSON before that.
result = [10**5000, 1j]
