# title: groups, pairs and products
# expect: ok
# check: result == [[["a", 2], ["b", 1]], 6, [[1, 2], [2, 3]]]
import itertools

groups = [[k, len(list(g))] for k, g in itertools.groupby("aab")]
result = [groups, len(list(itertools.product("ab", [1, 2, 3]))), [list(p) for p in itertools.pairwise([1, 2, 3])]]
