# title: ranges and views of a dict
# expect: ok
# check: result == [[0, 1, 2], ["a"], [1], [4, 5]]
d = {"a": 1}
result = [range(3), d.keys(), d.values(), map(lambda x: x + 3, [1, 2])]
