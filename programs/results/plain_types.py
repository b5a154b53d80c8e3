# title: a result of every plain type
# expect: ok
# check: result == {"i": 1, "f": 1.5, "s": "text", "b": True, "n": None, "l": [1, [2]], "d": {"k": "v"}}
result = {"i": 1, "f": 1.5, "s": "text", "b": True, "n": None, "l": [1, [2]], "d": {"k": "v"}}
