# title: whole numbers as keys
# expect: ok
# check: result == {"1": "a", "2": "b"}
result = {1: "a", 2: "b"}
