# title: a deep copy of nested values
# expect: ok
# check: result == [[1, [2]], [1, [2, 3]]]
import copy

a = [1, [2]]
b = copy.deepcopy(a)
b[1].append(3)
result = [a, b]
